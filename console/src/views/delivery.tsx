// The view of one event at one webhook: the body of the delivery, the answers, and a button that sends the event again.
import { get, post } from '../api/request.ts';
import type { EventDelivery as Entity } from '../api/shapes.ts';
import { Action } from '../parts/action.tsx';
import { Curl } from '../parts/curl.tsx';
import { Json } from '../parts/json.tsx';
import { Off } from '../parts/off.tsx';
import { useLacks } from '../state/use-lacks.ts';
import { ProblemLine } from '../parts/problem.tsx';
import { Time } from '../parts/time.tsx';
import { linkTo } from '../state/route.ts';
import { useLoad } from '../state/use-load.ts';
import { useNowAndSoon } from '../state/use-soon.ts';
import { runOf } from '../text/box.ts';
import { durationOf } from '../text/time.ts';
import { webhooksRead, webhooksWrite } from './webhooks.tsx';

export function Delivery({ id, eventId }: { id: string; eventId: string }) {
  const isOff = useLacks(webhooksRead);
  const path = `/webhook-events/${encodeURIComponent(id)}`;
  const request = get(`${path}/deliveries/${encodeURIComponent(eventId)}`);
  const loaded = useLoad<Entity>(isOff ? undefined : request, true);
  const reload = useNowAndSoon(loaded.reload);
  const delivery = loaded.answer?.body;
  const run = runOf(eventId);
  return (
    <>
      <p class="crumbs">
        <a href={linkTo('webhooks')}>Webhooks</a> › <a href={linkTo('webhooks', [id])}>{id}</a>
      </p>
      <h1 tabIndex={-1}>{delivery?.event ?? 'An event'}</h1>
      <p class="id quiet">
        {eventId}
        {run !== undefined && (
          <>
            {' · '}
            <a href={linkTo('runs', [run])}>its run</a>
          </>
        )}
      </p>
      {isOff && <Off scope={webhooksRead} what="A delivery" />}
      <ProblemLine of={loaded} />
      <div class="row">
        <Action<{ queued: number }>
          label="Send again"
          kind="main"
          scope={webhooksWrite}
          request={post(`${path}/replay`, { eventIds: [eventId] })}
          said={() => 'The event is sent again.'}
          onDone={reload}
        />
        <Curl request={request} what="curl of this delivery" />
      </div>
      {delivery !== undefined && (
        <>
          <h2>Sent</h2>
          {delivery.body === null ? (
            <p class="quiet">The stream does not hold it any more.</p>
          ) : (
            <Json value={pretty(delivery.body)} label="The body as it was sent" />
          )}
          <h2>Answered</h2>
          <ol class="attempts">
            {delivery.attempts.map((attempt) => (
              <Attempt key={`${attempt.attempt} ${attempt.at}`} {...attempt} />
            ))}
          </ol>
        </>
      )}
    </>
  );
}

function Attempt(attempt: Entity['attempts'][number]) {
  const { at, outcome, responseStatus, durationMs, error, nextAttemptAt, responseBody } = attempt;
  return (
    <li>
      <p>
        <span class={`dot ${outcome === 'failed' ? 'stopped' : 'well'}`} aria-hidden="true" />
        <Time at={at} full /> · {outcome}: {responseStatus ?? 'no answer'} after {durationOf(durationMs)}
        {error !== null && ` (${error})`}
        {nextAttemptAt !== null && (
          <>
            , the next one <Time at={nextAttemptAt} />
          </>
        )}
      </p>
      {responseBody !== null && responseBody !== '' && (
        <Json value={responseBody} label="What the receiver answered" />
      )}
    </li>
  );
}

/** Parses the body, which is JSON, so that the page shows it indented. */
function pretty(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}
