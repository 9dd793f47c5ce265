// One attempt at one event for one endpoint, and its consequences:
//
//   the attempt       is recorded                                           then
//   ────────────────  ────────────────────────────────────────────────────  ────────────────────────────────────────
//   succeeds          only if the circuit was open                          the next attempt of the endpoint begins
//   fails             with the endpoint: circuit, counter, trial            the event waits for its next attempt
//   fails, uncounted  with the offset of the endpoint, soon                 the event waits for its next attempt
//   cannot be sent    nowhere                                               the attempt is repeated 0.5 to 5 s later
//   is cut off        nowhere: the partition is given back or lost          the next owner repeats the attempt
//   fails, disabled   nowhere: the endpoint is disabled meanwhile           the event is open until the owner stores `missed`
import type { Log } from '@integration-sync/runtime/log';
import type { Retry } from '@integration-sync/runtime/retry';
import type { EndpointCache, KnownEndpoint } from '../endpoints/cache.ts';
import type { Endpoint, Trial } from '../endpoints/endpoint.ts';
import type { StreamEvent } from '../log/batch.ts';
import type { LogPoint } from '../log/offsets.ts';
import type { WebhookMetrics } from '../metrics.ts';
import type { Attempted, Send } from '../sending/send.ts';
import { type AttemptLog, entryOf } from './attempt-log.ts';
import type { Delivery, EndpointQueue } from './endpoint-queue.ts';
import { delayAfter, type Next } from './policy.ts';
import type { Recorder } from './recorder.ts';

interface DeliverOptions {
  send: Send;
  cache: Pick<EndpointCache, 'get'>;
  recorder: Recorder;
  report: Report;
  /** Called with the endpoint as it is stored after a failure. */
  onRecorded: (endpoint: Endpoint) => void;
  /** Called after an uncounted failure: only the offset of the endpoint can store that its event has used up an attempt. */
  onUncounted: (queue: EndpointQueue) => void;
  /** False while another replica may have claimed the partitions of this replica. */
  mayBegin: () => boolean;
  retry: Retry;
  log: Log;
}

/** How long an event of a disabled endpoint waits: by then the owner has heard that the endpoint was disabled. */
const stayOpenMs = 1_000;
const troubleMs = 500;
const troubleMsMax = 5_000;
/** One in so many attempts at an endpoint that cannot be sent is logged: an outage of the egress proxy may last. */
const linesEveryTroubles = 20;

export class Deliverer {
  readonly #options: DeliverOptions;
  readonly #troubles = new WeakMap<EndpointQueue, number>();

  constructor(options: DeliverOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  async deliver(queue: EndpointQueue, delivery: Delivery, event: StreamEvent): Promise<void> {
    try {
      await this.#attempt(queue, delivery, event);
      this.#troubles.delete(queue);
    } catch (error) {
      this.#tryLater(queue, delivery, error);
    }
  }

  async #attempt(queue: EndpointQueue, delivery: Delivery, event: StreamEvent): Promise<void> {
    const { send, cache, recorder, report, mayBegin, retry } = this.#options;
    const { version } = queue.subscriber;
    const { attempts } = delivery;
    const known = await cache.get(queue.subscriber);
    if (known === null) return queue.finish(delivery);
    const { active, epoch } = known.endpoint;
    // The owner soon learns that the endpoint is disabled, and then stores its missed events.
    if (!active || epoch !== queue.subscriber.epoch || queue.isEnded || !mayBegin())
      return stayOpen(queue, delivery, delivery.attempts);
    // During the look-up a failure at the former owner became known: the event waits for its next attempt.
    if (delivery.attempts !== attempts) return queue.putOff(delivery);
    const { eventId, body, traceparent, timestamp } = event;
    const number = delivery.attempts + 1;
    const { signal } = queue.attempts;
    const sending = { eventId, event: event.event, timestamp, body, attempt: number, traceparent, signal };
    const attempted = await send(known, sending);
    const { sequence, index } = delivery;
    const reported = { known, event, point: { sequence, index }, number, attempted };
    if (attempted.verdict === 'succeeded') {
      if (!queue.isCircuitClosed) {
        const { mark } = queue;
        await retry('recording a success', () => recorder.succeeded(known.endpoint));
        // Another version of the endpoint may have another receiver. A failure that was stored meanwhile may be newer
        // than this success.
        if (queue.subscriber.version === version && queue.mark === mark) queue.isCircuitClosed = true;
      }
      queue.finish(delivery);
      return report({ ...reported, next: { event: 'delivered' }, nextAttemptAt: null });
    }
    const failed = await this.#fail(queue, delivery, known, attempted);
    report({ ...reported, ...failed });
    if (failed.next?.event === 'again' && failed.next.circuit === 'unchanged')
      this.#options.onUncounted(queue);
  }

  async #fail(
    queue: EndpointQueue,
    delivery: Delivery,
    known: KnownEndpoint,
    attempted: Attempted,
  ): Promise<{ next: Next | undefined; nextAttemptAt: Date | null }> {
    const { recorder, onRecorded, retry } = this.#options;
    // The queue pauses before the write, so that no further attempt begins meanwhile.
    const { isCircuitClosed: wasClosed, mark } = queue;
    queue.isCircuitClosed = false;
    queue.pauses += 1;
    const number = delivery.attempts + 1;
    const failedAt = performance.now();
    const retryAfterMs = attempted.answer?.retryAfterMs ?? 0;
    queue.restsUntil = Math.max(queue.restsUntil, failedAt + retryAfterMs);
    const delayMs = delayAfter(number, retryAfterMs);
    const dueAt = new Date(Date.now() + delayMs);
    const { sequence, index } = delivery;
    const { stream } = queue.claim;
    const tried: Trial = { stream, sequence, index, attempts: number, dueAtMs: dueAt.getTime() };
    if (retryAfterMs > 0) tried.retryAfterMs = retryAfterMs;
    const failed = {
      endpoint: known.endpoint,
      verdict: attempted.verdict === 'gone' ? ('gone' as const) : ('failed' as const),
      tried,
      // An attempt may outlast the ownership of its partition. Then only the present owner knows the undelivered
      // events.
      missed: () => (queue.isEnded ? null : queue.missed()),
    };
    try {
      const { next, after } = await retry('recording a failure', () => recorder.failed(failed));
      const hasFailedUnheard = after !== undefined && after.mark > mark;
      if (after !== undefined) queue.mark = Math.max(queue.mark, after.mark);
      const again = next?.event === 'again';
      // Another failure had opened the circuit before, and a success may have closed the circuit since. If the queue
      // had not heard of the counted failure, the circuit stays open: that failure may be of this attempt, stored by an
      // update whose answer got lost.
      if (next?.circuit === 'unchanged' && wasClosed && !hasFailedUnheard) queue.isCircuitClosed = true;
      // A success or a look-up from before the stored failure may have closed the circuit of the queue meanwhile.
      if (next?.circuit === 'open') queue.isCircuitClosed = false;
      if (again) {
        const due = Math.min(performance.now() + dueAt.getTime() - Date.now(), failedAt + delayMs);
        const isTrial = next.circuit === 'open';
        queue.again(delivery, { attempts: number, dueAt: due, isTrial, retryAfterMs });
      } else if (next?.event === 'missed') stayOpen(queue, delivery, number);
      else queue.finish(delivery);
      if (after !== undefined) onRecorded(after);
      return { next, nextAttemptAt: again ? dueAt : null };
    } finally {
      queue.pauses -= 1;
    }
  }

  /** Makes an event due again whose attempt could not be sent. */
  #tryLater(queue: EndpointQueue, delivery: Delivery, error: unknown): void {
    const { attempts, isTrial } = delivery;
    if (queue.attempts.signal.aborted) return queue.again(delivery, delivery);
    const count = this.#troubles.get(queue) ?? 0;
    this.#troubles.set(queue, count + 1);
    const dueAt = performance.now() + Math.min(troubleMs * 2 ** count, troubleMsMax);
    queue.again(delivery, { attempts, dueAt, isTrial });
    if (count % linesEveryTroubles > 0) return;
    this.#options.log.warn(
      { err: error, endpoint: queue.id, tries: count + 1 },
      'a delivery could not be sent, trying again',
    );
  }
}

function stayOpen(queue: EndpointQueue, delivery: Delivery, attempts: number): void {
  queue.again(delivery, { attempts, dueAt: performance.now() + stayOpenMs, isTrial: delivery.isTrial });
}

interface Reported {
  known: KnownEndpoint;
  event: StreamEvent;
  /** The point of the event in the log. */
  point: LogPoint;
  /** 1 for an event's first attempt. */
  number: number;
  attempted: Attempted;
  /** Undefined if the endpoint was deleted meanwhile. */
  next: { event: Next['event'] | 'delivered'; disable?: Next['disable'] } | undefined;
  nextAttemptAt: Date | null;
}

/** Writes one canonical log line, the metrics, and an entry of the attempt log for each attempt. */
type Report = (reported: Reported) => void;

export function openReport(
  log: Log,
  attemptLog: Pick<AttemptLog, 'append'>,
  metrics: WebhookMetrics,
): Report {
  return ({ known, event: { eventId, event, timestamp }, point, number, attempted, next, nextAttemptAt }) => {
    const { endpoint } = known;
    const { verdict, responseStatus, durationMs, error, traceId } = attempted;
    const entry = entryOf({ eventId, event, attempt: number, point }, attempted, nextAttemptAt);
    metrics.attempt(verdict, durationMs);
    if (verdict === 'succeeded') metrics.delivered((Date.now() - Date.parse(timestamp)) / 1000);
    // A push of 500 items would write 500 lines for each of its webhooks. The attempt log and the metrics have successes as well.
    const level = verdict === 'succeeded' ? 'debug' : 'info';
    // The log line leaves out undefined fields.
    log[next?.disable === undefined ? level : 'warn'](
      {
        endpoint: endpoint._id,
        integration: endpoint.integration,
        traceId,
        eventId,
        event,
        attempt: entry.attempt,
        outcome: entry.outcome,
        status: responseStatus,
        durationMs,
        error: error ?? undefined,
        next: next?.event ?? 'endpoint deleted',
        nextAttemptAt: entry.nextAttemptAt ?? undefined,
        disabled: next?.disable,
      },
      'attempt',
    );
    if (next !== undefined) attemptLog.append(endpoint._id, entry);
  };
}
