// One attempt at one event for one endpoint: its steps, and the type that each step returns.
//
//   begin    looks the endpoint up                                                PendingAttempt
//   send     waits until the receiver answers, for 10 s at most                   EndedAttempt
//   record   decides the next delivery state, and stores it if that must be now   Step
//   report   writes a log line, metrics, and an entry of the attempt log
//
// Changes of the delivery state of one endpoint are recorded one after another. While a change is being stored, no attempt at the
// endpoint begins. The owner stores absolute values, on the condition that the endpoint is as the owner has applied it and that
// no later owner has stored a change. So an update whose answer was lost is repeated without harm. If the condition fails, the
// owner reads the endpoint: it was deleted, or has a later owner or a newer version. The owner applies a newer version and
// decides again. While MongoDB is away, deliveries go on, except at an endpoint whose change waits to be stored.
import { Failure } from '@integration-sync/contracts';
import type { Log } from '@integration-sync/runtime/log';
import type { Retry } from '@integration-sync/runtime/retry';
import { openSemaphore, type RunInTurn } from '@integration-sync/runtime/semaphore';
import type { EndpointCache, KnownEndpoint } from '../endpoints/cache.ts';
import { type Endpoint, openMaxOf } from '../endpoints/endpoint.ts';
import type { Endpoints } from '../endpoints/endpoint-store.ts';
import type { StreamEvent } from '../log/logged-batch.ts';
import type { WebhookMetrics } from '../metrics.ts';
import type { Attempted, Send } from '../sending/send.ts';
import type { Report } from './attempt-report.ts';
import { type Change, delayAfter, step, type Step } from './delivery-state.ts';
import type { Delivery, EndpointQueue } from './endpoint-queue.ts';

interface PendingAttempt {
  queue: EndpointQueue;
  delivery: Delivery;
  event: StreamEvent;
  known: KnownEndpoint;
  number: number;
  round: number;
}

interface EndedAttempt extends PendingAttempt {
  attempted: Attempted;
  change: Change;
  dueAt: number;
  retryAfterMs: number;
}

interface AttemptsOptions {
  send: Send;
  cache: Pick<EndpointCache, 'get'>;
  endpoints: Pick<Endpoints, 'find' | 'recordState' | 'disable' | 'recordMissed'>;
  report: Report;
  onRead: (queue: EndpointQueue, found: Endpoint | null) => void;
  storeSoon: (queue: EndpointQueue) => void;
  announce: () => void;
  metrics: Pick<WebhookMetrics, 'disabledBy'>;
  /** Whether an attempt may begin: not while another replica may have claimed the partitions of this replica. */
  mayBegin: () => boolean;
  retry: Retry;
  log: Log;
}

/** How long an event waits if its endpoint has changed. After that time the owner has received the broadcast of the change. */
const stayOpenMs = 1_000;
const troubleMs = 500;
const troubleMsMax = 5_000;
/** If attempts at an endpoint cannot be sent, one of 20 is logged, because an outage of the egress proxy may take long. */
const linesEveryTroubles = 20;
/** How long a note of `/readyz` tells why an attempt could not be sent. */
const reportedForMs = 30_000;
/** One failure is stored at a time, in turns over integrations; up to four if a write has waited 500 ms. Healthy endpoints stay fast. */
const failureWrites = { max: 4, aloneForMs: 500 };
const successWrites = { max: 4 };

export class Attempts {
  readonly #options: AttemptsOptions;
  readonly #troubles = new WeakMap<EndpointQueue, number>();
  #lastTrouble: { detail: string; at: number } | undefined;
  readonly #limits: Record<'failed' | 'succeeded', RunInTurn> = {
    failed: openSemaphore(failureWrites).run,
    succeeded: openSemaphore(successWrites).run,
  };

  constructor(options: AttemptsOptions) {
    this.#options = options;
  }

  /** A note for `/readyz`: why the last attempt could not be sent. Empty once another attempt is sent, and after 30 s. */
  notes(): string[] {
    const { detail = '', at = -Infinity } = this.#lastTrouble ?? {};
    return performance.now() - at < reportedForMs ? [detail] : [];
  }

  /** Makes one attempt at the event. Never rejects. */
  async make(queue: EndpointQueue, delivery: Delivery, event: StreamEvent): Promise<void> {
    try {
      const pending = await this.#begin(queue, delivery, event);
      if (pending === undefined) return;
      const ended = await this.#send(pending);
      this.#troubles.delete(queue);
      this.#lastTrouble = undefined;
      const recorded = await this.#record(ended);
      if (recorded?.store === 'soon') this.#options.storeSoon(queue);
      this.#report(ended, recorded);
    } catch (error) {
      this.#tryLater(queue, delivery, error);
    }
  }

  /** Looks up the endpoint of an event. Undefined if the event must not be sent now. */
  async #begin(
    queue: EndpointQueue,
    delivery: Delivery,
    event: StreamEvent,
  ): Promise<PendingAttempt | undefined> {
    const { cache, mayBegin, onRead } = this.#options;
    const { state } = queue;
    const known = await cache.get({ _id: queue.id, ...state });
    if (known === null) {
      queue.finish(delivery);
      return undefined;
    }
    const { active, epoch, version } = known.endpoint;
    // An endpoint that was disabled and enabled during the look-up misses the event. A newer version may have another url, for which
    // the circuit is open.
    const isSame = epoch === state.epoch && version <= state.version && queue.state.epoch === state.epoch;
    if (active && isSame && !queue.isEnded && mayBegin())
      return { queue, delivery, event, known, number: delivery.attempts + 1, round: state.round };
    // The owner applies the newer version of the endpoint, and stores the events that a disabling made missed.
    while (queue.storing !== undefined) await queue.storing;
    if (!(active && isSame) && !queue.isEnded) onRead(queue, known.endpoint);
    queue.wait(delivery, performance.now() + stayOpenMs);
    return undefined;
  }

  async #send(pending: PendingAttempt): Promise<EndedAttempt> {
    const { queue, delivery, event, known, number, round } = pending;
    const attempted = await this.#options.send(known, { ...event, attempt: number, signal: queue.cutOff() });
    const { version, url, epoch } = known.endpoint;
    const retryAfterMs = url === queue.state.url ? (attempted.answer?.retryAfterMs ?? 0) : 0;
    const delayMs = delayAfter(number, retryAfterMs);
    const { sequence, index } = delivery;
    const change: Change = {
      verdict: attempted.verdict,
      version,
      url,
      epoch,
      round,
      tried: {
        stream: queue.claim.stream,
        sequence,
        index,
        attempts: number,
        dueAtMs: Date.now() + delayMs,
        ...(retryAfterMs > 0 ? { retryAfterMs } : {}),
      },
      trialsMax: openMaxOf(known.endpoint),
    };
    return { ...pending, attempted, change, dueAt: performance.now() + delayMs, retryAfterMs };
  }

  /** Decides and stores the outcome of an ended attempt. Undefined if the endpoint is deleted. */
  async #record(ended: EndedAttempt): Promise<Step | undefined> {
    const { queue, delivery, change, number: attempts, dueAt, retryAfterMs } = ended;
    // The delivery is updated before MongoDB answers, because meanwhile the endpoint may be disabled or its partition released.
    // A delivered event must not count as missed or undelivered, and a failed attempt must count as used up.
    delivery.isDelivered = change.verdict === 'succeeded';
    if (!delivery.isDelivered) {
      delivery.attempts = attempts;
      delivery.dueAt = dueAt;
      delivery.retryAfterMs = retryAfterMs;
    }
    if (retryAfterMs > 0) queue.restsUntil = Math.max(queue.restsUntil, performance.now() + retryAfterMs);
    while (queue.storing !== undefined) await queue.storing;
    let next = step(queue.state, change);
    if (next.store === 'now' && !queue.isEnded) {
      const { promise, resolve } = Promise.withResolvers<void>();
      queue.storing = promise;
      try {
        const limit = this.#limits[change.verdict === 'succeeded' ? 'succeeded' : 'failed'];
        // While a change of the delivery state waits for its next retry, it holds no permit, so that other changes can be stored.
        await this.#options.retry('storing the outcome of an attempt', () =>
          limit(async () => {
            while (next.store === 'now' && !queue.isEnded && !(await this.#store(queue, next)))
              next = step(queue.state, change);
          }, queue.integration),
        );
      } finally {
        queue.storing = undefined;
        resolve();
      }
    }
    if (!queue.isDeleted) return this.#apply(ended, next);
    queue.finish(ended.delivery);
    return undefined;
  }

  /** Stores a delivery state. False if the endpoint in MongoDB has changed: the owner has then read and applied that change. */
  async #store(queue: EndpointQueue, { state, disable }: Step): Promise<boolean> {
    const { endpoints, onRead, metrics, announce } = this.#options;
    const read = { _id: queue.id, ...queue.state, term: queue.claim.term };
    if (disable === undefined) {
      if (await endpoints.recordState(read, state)) return true;
    } else {
      const { failures } = state;
      const missed = queue.missed();
      if (await endpoints.disable(read, { reason: disable, failures, at: new Date(), missed })) {
        metrics.disabledBy(disable);
        announce();
        const left = queue.missed();
        // A receiver may have accepted an event while MongoDB stored the disabling: that event is not missed.
        if (left.open.length < missed.open.length) await endpoints.recordMissed(queue.id, read.epoch, left);
        return true;
      }
    }
    const { state: known } = queue;
    onRead(queue, await endpoints.find(queue.id));
    if (queue.isEnded || queue.state !== known) return false;
    throw new Error(
      `endpoint ${queue.id} was changed in MongoDB without a new version: its owner still delivers by the former one`,
    );
  }

  #apply({ queue, delivery }: EndedAttempt, next: Step): Step {
    // An owner that has lost the partition changes no state; the next owner delivers the event.
    if (!queue.isEnded) queue.state = next.state;
    if (next.event === 'again') queue.again(delivery, next.counts);
    else if (next.event === 'missed') queue.wait(delivery, performance.now() + stayOpenMs);
    else queue.finish(delivery);
    return next;
  }

  #report({ known: { endpoint }, event, number, attempted, change }: EndedAttempt, next?: Step): void {
    const { sequence, index, dueAtMs } = change.tried;
    const nextAttemptAt = next?.event === 'again' ? new Date(dueAtMs) : null;
    const point = { sequence, index };
    this.#options.report({ endpoint, event, number, attempted, nextAttemptAt, point }, next);
  }

  #tryLater(queue: EndpointQueue, delivery: Delivery, error: unknown): void {
    if (queue.cutOff().aborted) return queue.wait(delivery, delivery.dueAt);
    if (error instanceof Failure && error.code === 'unavailable')
      this.#lastTrouble = { detail: error.detail, at: performance.now() };
    const count = this.#troubles.get(queue) ?? 0;
    this.#troubles.set(queue, count + 1);
    queue.wait(delivery, performance.now() + Math.min(troubleMs * 2 ** count, troubleMsMax));
    if (count % linesEveryTroubles > 0) return;
    this.#options.log.warn(
      { err: error, endpoint: queue.id, tries: count + 1 },
      'a delivery could not be sent, trying again',
    );
  }
}
