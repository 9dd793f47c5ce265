// One webhook: its state, what can be done about it, and its attempts.
import { useEffect, useState } from 'preact/hooks';
import { get, patch, post } from '../api/request.ts';
import type { DeliveryAttempt, DrillResult, Listing, TestResult, Webhook as Entity } from '../api/shapes.ts';
import { Action } from '../parts/action.tsx';
import { Curl } from '../parts/curl.tsx';
import { Off } from '../parts/off.tsx';
import { useLacks } from '../state/use-lacks.ts';
import { ProblemLine } from '../parts/problem.tsx';
import { Standing } from '../parts/standing.tsx';
import { Time } from '../parts/time.tsx';
import { linkTo, route, withQuery } from '../state/route.ts';
import { useStore } from '../store.ts';
import { useLoad } from '../state/use-load.ts';
import { useNowAndSoon } from '../state/use-soon.ts';
import { counted } from '../text/count.ts';
import { durationOf } from '../text/time.ts';
import { Attempts } from './attempts.tsx';
import { Change } from './webhook-change.tsx';
import { Drill, Drilled } from './webhook-drill.tsx';
import { Delete, Replay, Rotate } from './webhook-steps.tsx';
import { webhooksRead, webhooksWrite } from './webhooks.tsx';

const stripLength = 100;

export function Webhook({ id }: { id: string }) {
  const isOff = useLacks(webhooksRead);
  const path = `/webhook-events/${encodeURIComponent(id)}`;
  const request = get(path, { details: true });
  const loaded = useLoad<Entity>(isOff ? undefined : request, true);
  const log = useLoad<Listing<DeliveryAttempt>>(
    isOff ? undefined : get(`${path}/deliveries`, { limit: stripLength }),
    true,
  );
  const webhook = loaded.answer?.body;
  const [turn, setTurn] = useState(0);
  const [drilled, setDrilled] = useState<DrillResult['checks']>();
  const reload = useNowAndSoon(() => {
    loaded.reload();
    log.reload();
    setTurn((count) => count + 1);
  });
  const since = useMissedSince(webhook);
  const last = log.answer?.body.entities.find(({ outcome }) => outcome === 'failed');
  return (
    <>
      <p class="crumbs">
        <a href={linkTo('webhooks')}>Webhooks</a>
      </p>
      <h1 tabIndex={-1} class="id">
        {id}
      </h1>
      {isOff && <Off scope={webhooksRead} what="A webhook" />}
      <ProblemLine of={loaded} />
      {loaded.problem?.status === 404 && (
        <p>
          Is it the id of a record? <a href={linkTo('records', [], { externalId: id })}>Look there</a>.
        </p>
      )}
      {webhook !== undefined && (
        <>
          <p class="state">
            <Standing webhook={webhook} last={last} />
          </p>
          <section class="steps" aria-label="Steps">
            <OnOff path={path} webhook={webhook} onDone={reload} />
            <Replay path={path} since={since} kinds={webhook.events} onDone={reload} />
            <Action<TestResult>
              label="Send a test"
              scope={webhooksWrite}
              request={post(`${path}/test`)}
              said={saidOfTest}
              isGood={({ delivered }) => delivered}
              onDone={reload}
            />
            <Drill path={path} onDone={setDrilled} />
            <Change path={path} webhook={webhook} onDone={reload} />
            <Rotate path={path} onDone={reload} />
            <Delete path={path} webhook={webhook} />
          </section>
          {drilled !== undefined && <Drilled checks={drilled} />}
          <Facts webhook={webhook} />
        </>
      )}
      <Curl request={request} what="curl of this webhook" />
      {webhook !== undefined && <Attempts id={id} log={log} kinds={webhook.events} turn={turn} />}
    </>
  );
}

/** When the webhook was disabled. Enabling clears `disabledAt`, which the replay proposes, so the route keeps it. */
function useMissedSince(webhook: Entity | undefined): string | undefined {
  const here = useStore(route);
  const disabledAt = webhook?.disabledAt ?? undefined;
  useEffect(() => {
    if (disabledAt === undefined || here.query['missedSince'] === disabledAt) return;
    history.replaceState(undefined, '', withQuery(here, { missedSince: disabledAt }));
    route.set({ ...here, query: { ...here.query, missedSince: disabledAt } });
  }, [disabledAt]);
  return disabledAt ?? here.query['missedSince'];
}

function Facts({ webhook }: { webhook: Entity }) {
  const { url, events, createdAt, disabledAt, details } = webhook;
  const [isWhole, showWhole] = useState(false);
  return (
    <dl class="facts">
      <dt>Address</dt>
      <dd>
        <bdi>{url}</bdi>
      </dd>
      <dt>Events</dt>
      <dd>
        {isWhole || events.length <= 3 ? events.join(', ') : `${events.slice(0, 3).join(', ')} `}
        {!isWhole && events.length > 3 && (
          <button type="button" class="small" onClick={() => showWhole(true)}>
            and {events.length - 3} more
          </button>
        )}
      </dd>
      <dt>Registered</dt>
      <dd>
        <Time at={createdAt} full />
      </dd>
      {disabledAt !== null && (
        <>
          <dt>Disabled</dt>
          <dd>
            <Time at={disabledAt} full />
          </dd>
        </>
      )}
      {details !== undefined && (
        <>
          <dt>Description</dt>
          <dd>{details.description ?? <span class="quiet">none</span>}</dd>
          <dt>Comes back by itself</dt>
          <dd>{details.recover ? 'yes' : 'no'}</dd>
          <dt>At once</dt>
          <dd>{counted(details.inFlightMax, 'delivery', 'deliveries')} at most</dd>
          <dt>Headers</dt>
          <dd>
            {details.headerNames.length === 0 ? (
              <span class="quiet">none</span>
            ) : (
              details.headerNames.join(', ')
            )}
          </dd>
        </>
      )}
    </dl>
  );
}

function OnOff({ path, webhook, onDone }: { path: string; webhook: Entity; onDone: () => void }) {
  return webhook.active ? (
    <Action
      label="Pause"
      scope={webhooksWrite}
      request={patch(path, { active: false })}
      said={() => 'Paused.'}
      onDone={onDone}
    />
  ) : (
    <Action
      label="Enable"
      kind="main"
      scope={webhooksWrite}
      request={patch(path, { active: true })}
      said={() => 'Enabled. Replay what it missed.'}
      onDone={onDone}
    />
  );
}

const saidOfTest = ({ delivered, responseStatus, durationMs, error }: TestResult): string => {
  const answer = responseStatus === null ? (error ?? 'no answer') : `a ${responseStatus}`;
  return `${delivered ? 'Delivered' : 'Not delivered'}: ${answer} after ${durationOf(durationMs)}.`;
};
