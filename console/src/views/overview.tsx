// The overview: first what needs a person, then the last pushes, then the rate of events and the state of the services.
import { get, page, patch } from '../api/request.ts';
import { nowOfGateway } from '../api/session.ts';
import type { Expectations, Listing, Readiness, SyncRun, Webhook } from '../api/shapes.ts';
import { Action } from '../parts/action.tsx';
import { Curl } from '../parts/curl.tsx';
import { Off } from '../parts/off.tsx';
import { useLacks } from '../state/use-lacks.ts';
import { Bars, Legend, type Bar } from '../parts/plots.tsx';
import { ProblemLine } from '../parts/problem.tsx';
import { Standing } from '../parts/standing.tsx';
import { Time } from '../parts/time.tsx';
import { feed, feedScope, rateSeconds } from '../state/feed.ts';
import { linkTo } from '../state/route.ts';
import { steps } from '../state/steps.ts';
import { useStore } from '../store.ts';
import { useEverySecond } from '../state/ticks.ts';
import { useAllWebhooks } from '../state/use-all-webhooks.ts';
import { useLoad, type Loaded } from '../state/use-load.ts';
import { counted } from '../text/count.ts';
import { isOfThisMachine } from '../here.ts';
import { standingOf } from '../text/state.ts';
import { shortTime, spanOf } from '../text/time.ts';
import { ExpectedPushes, expectationsRead, OverdueCards, overdueIn } from './expectations.tsx';
import { FirstSteps } from './first-steps.tsx';
import { runsScope } from './runs.tsx';
import { PushSample } from './sample.tsx';
import { webhooksRead, webhooksWrite } from './webhooks.tsx';

const pushesShown = 100;
const failedShown = 5;
const firstPushes = 20;
/** One request reads this many webhooks. If the integration has more, the page says how many it has read. */
const fewWebhooks = 100;
const lately = 24 * 3_600_000;

const startOf = (run: SyncRun | undefined): number => Date.parse(run?.startedAt ?? '');

export function Overview() {
  const noRuns = useLacks(runsScope);
  const noWebhooks = useLacks(webhooksRead);
  const runs = useLoad<Listing<SyncRun>>(
    noRuns ? undefined : get('/sync-runs', { limit: pushesShown }),
    true,
  );
  const since = nowOfGateway() - lately;
  const last = runs.answer?.body;
  // If all of the last 100 pushes began within a day, another request reads the failed pushes of that day.
  const isShort =
    last !== undefined && last.total > last.entities.length && startOf(last.entities.at(-1)) > since;
  const more = useLoad<Listing<SyncRun>>(
    isShort ? get('/sync-runs', { failed: true, limit: failedShown }) : undefined,
    true,
  );
  const failed = (isShort ? more : runs).answer?.body.entities.filter(
    (run) => run.failed > 0 && startOf(run) > since,
  );
  const webhooks = useAllWebhooks(noWebhooks);
  const noExpectations = useLacks(expectationsRead);
  const expected = useLoad<Expectations>(noExpectations ? undefined : get('/expectations'), true);
  const { isDone } = useStore(steps);
  // Only an integration with few pushes is new, and is shown the first steps.
  const isNew = !noWebhooks && !isDone && (runs.answer?.body.total ?? Infinity) <= firstPushes;
  const reload = (): void => {
    for (const one of [runs, more, webhooks, expected]) one.reload();
  };
  return (
    <>
      <h1 tabIndex={-1}>Overview</h1>
      {noRuns ? <Off scope={runsScope} what="The history of pushes" /> : <ProblemLine of={runs} />}
      {noWebhooks ? <Off scope={webhooksRead} what="The state of webhooks" /> : <ProblemLine of={webhooks} />}
      {isNew && <FirstSteps runs={runs} webhooks={webhooks} onDone={reload} />}
      <Hand failed={failed} webhooks={webhooks} expected={expected} onDone={reload} />
      {!noRuns && (
        <Pushes runs={runs} hasSample={!isNew && isOfThisMachine(location.hostname)} onDone={reload} />
      )}
      <ExpectedPushes of={expected} isOff={noExpectations} />
      <div class="pair">
        <Rate />
        <Services />
      </div>
    </>
  );
}

interface HandProps {
  /** The failed pushes of the last day, newest first; undefined until they are known. */
  failed: readonly SyncRun[] | undefined;
  webhooks: Loaded<Listing<Webhook>>;
  expected: Loaded<Expectations>;
  onDone: () => void;
}

function Hand({ failed, webhooks, expected, onDone }: HandProps) {
  const all = webhooks.answer?.body;
  const broken = (all?.entities ?? []).filter(
    (webhook) => standingOf(webhook) !== 'well' && webhook.disabledReason !== 'manual',
  );
  const runs = failed?.slice(0, failedShown) ?? [];
  const known = [
    ...(all === undefined ? [] : ['no webhook fails']),
    ...(failed === undefined ? [] : ['no item of the last day failed']),
  ];
  const isAll = all === undefined || all.entities.length >= all.total;
  const isQuiet = broken.length === 0 && runs.length === 0 && overdueIn(expected.answer?.body).length === 0;
  return (
    <section aria-labelledby="hand">
      <h2 id="hand">Needs a hand</h2>
      {known.length > 0 && isQuiet && (
        <p class="fine">
          <span class="dot well" aria-hidden="true" />
          {isAll ? 'Nothing' : 'Nothing so far'}: {known.join(', and ')}.
        </p>
      )}
      <ul class="cards">
        <OverdueCards of={expected} />
        {broken.map((webhook) => (
          <BrokenWebhook key={webhook.id} webhook={webhook} onDone={onDone} />
        ))}
        {runs.map((run) => (
          <li key={run.syncId}>
            <p>
              <span class="dot failing" aria-hidden="true" />
              {run.failed.toLocaleString('en')} of {counted(countOf(run), `${run.entityType} item`)} failed at{' '}
              <Time at={run.startedAt} />.
            </p>
            <a class="button" href={linkTo('runs', [run.syncId])}>
              Read why
            </a>
          </li>
        ))}
      </ul>
      {all !== undefined && (!isAll || all.total > fewWebhooks) && (
        <p class="quiet">
          {isAll ? 'All' : `${all.entities.length.toLocaleString('en')} of`} {all.total.toLocaleString('en')}{' '}
          <a href={linkTo('webhooks')}>webhooks</a> were looked at{!isAll && ', the others follow'}.
        </p>
      )}
    </section>
  );
}

function BrokenWebhook({ webhook, onDone }: { webhook: Webhook; onDone: () => void }) {
  const { id, url, active, disabledAt } = webhook;
  const link = linkTo('webhooks', [id], { missedSince: disabledAt ?? undefined });
  return (
    <li>
      <p>
        <Standing webhook={webhook} /> <bdi>{url}</bdi>
      </p>
      <div class="row">
        <a class="button" href={link}>
          See its attempts
        </a>
        {!active && (
          <Action
            label="Enable"
            scope={webhooksWrite}
            request={patch(`/webhook-events/${id}`, { active: true })}
            said={() => 'Enabled.'}
            onDone={() => {
              // The view of this webhook proposes a replay of the events that the webhook missed.
              location.assign(link);
              onDone();
            }}
          />
        )}
      </div>
    </li>
  );
}

const countOf = ({ created, updated, failed }: SyncRun): number => created + updated + failed;

const kinds = [
  ['created', 'created'],
  ['changed', 'changed'],
  ['unchanged', 'unchanged'],
  ['failed', 'failed'],
] as const;

interface PushesProps {
  runs: Loaded<Listing<SyncRun>>;
  hasSample: boolean;
  onDone: () => void;
}

function Pushes({ runs, hasSample, onDone }: PushesProps) {
  const pushes = runs.answer?.body.entities ?? [];
  const most = Math.max(1, ...pushes.map(countOf));
  const bars = pushes.toReversed().map((run): Bar => {
    const counts = {
      created: run.created,
      changed: run.updated - run.unchanged,
      unchanged: run.unchanged,
      failed: run.failed,
    };
    return {
      key: run.syncId,
      title: `${shortTime(new Date(run.startedAt))} ${run.entityType}: ${kinds.map(([kind]) => `${counts[kind]} ${kind}`).join(', ')}`,
      parts: kinds.map(([kind]) => ({ kind, share: counts[kind] / most })),
      href: linkTo('runs', [run.syncId]),
    };
  });
  const items = pushes.reduce((sum, run) => sum + countOf(run), 0);
  const failures = pushes.reduce((sum, run) => sum + run.failed, 0);
  const label = `The last ${counted(pushes.length, 'push', 'pushes')}: ${counted(items, 'item')}, ${failures} of them failed. The largest had ${most}.`;
  return (
    <section aria-labelledby="pushes">
      <div class="row">
        <h2 id="pushes">The last pushes</h2>
        <a href={linkTo('runs')}>All runs</a>
        <Curl request={get('/sync-runs', { limit: pushesShown })} />
        {hasSample && pushes.length > 0 && <PushSample again onDone={onDone} />}
      </div>
      {pushes.length === 0 ? (
        runs.answer !== undefined && <p class="quiet">There is none yet.</p>
      ) : (
        <figure class="card">
          <Bars label={label} bars={bars} slots={pushesShown} />
          <figcaption class="row">
            <Legend kinds={kinds} />
            <span class="quiet">
              {counted(pushes.length, 'push', 'pushes')}, {counted(items, 'item')}; the largest had {most}
            </span>
          </figcaption>
        </figure>
      )}
    </section>
  );
}

function Rate() {
  const isOff = useLacks(feedScope);
  const { perSecond, events, isHeard } = useStore(feed);
  const now = useEverySecond();
  const seconds = Array.from({ length: rateSeconds }, (_, index) => now - rateSeconds + index);
  const counts = seconds.map((second) => perSecond.get(second) ?? 0);
  const most = Math.max(1, ...counts);
  const sum = counts.reduce((total, count) => total + count, 0);
  const newest = events[0];
  return (
    <section class="card" aria-labelledby="rate">
      <div class="row">
        <h2 id="rate">Events</h2>
        {!isOff && <a href={linkTo('events')}>See them</a>}
      </div>
      {isOff ? (
        <Off scope={feedScope} what="The rate of events" />
      ) : (
        <>
          <p>
            <strong class="big">
              {(sum / rateSeconds).toLocaleString('en', { maximumFractionDigits: 1 })}
            </strong>{' '}
            a second over the last minute
          </p>
          <Bars
            label={`${counted(sum, 'event')} in the last minute, at most ${most} in a second.`}
            slots={rateSeconds}
            bars={counts.map((count, index) => ({
              key: String(seconds[index]),
              title: counted(count, 'event'),
              parts: [{ kind: 'changed', share: count / most }],
            }))}
          />
          <p class="quiet">
            {newest === undefined
              ? isHeard
                ? 'None since a minute before this page was opened.'
                : 'Asking …'
              : `The last one: ${newest.event}, ${spanOf(nowOfGateway() - Date.parse(newest.timestamp))} ago.`}
          </p>
        </>
      )}
    </section>
  );
}

const readiness = page('readyz');

function Services() {
  const loaded = useLoad<Readiness>(readiness, true);
  const { answer, problem } = loaded;
  const services = Object.entries(answer?.body.services ?? {});
  return (
    <section class="card" aria-labelledby="services">
      <h2 id="services">The service</h2>
      {problem === undefined ? (
        services.length > 0 && (
          <p>
            <span class="dot well" aria-hidden="true" />
            Ready: {services.map(([name]) => name).join(', ')}.
          </p>
        )
      ) : (
        <p class="bad">
          <span class="dot stopped" aria-hidden="true" />
          {problem.message}
        </p>
      )}
      <ul class="quiet">
        {answer?.body.notes?.map(({ pointer, detail }) => (
          <li key={detail}>
            {pointer}: {detail}
          </li>
        ))}
      </ul>
      <Curl request={readiness} />
    </section>
  );
}
