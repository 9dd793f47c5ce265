// The undelivered events of one endpoint, and the choice of the next event. This file neither waits, stores nor sends.
//
//   the circuit is   the next event to send is
//   ───────────────  ─────────────────────────────────────────────────────────────────────────────────────────────
//   closed           the oldest open event that is due, else the next event in the log. Eight events may be open, or
//                    as many as the endpoint may have in flight
//   open             the trial, once it is due, and no other: the event that failed last, also at a former owner, else the
//                    oldest open event, else the next event in the log
//
// An open event is in flight, or waits for its next attempt. The cursor is the point of the next event in the log: events before
// the cursor are open or finished.
import { attemptDelaysMs, limits } from '@integration-sync/contracts';
import { inFlightMaxOf, isTrialOf, type Missed, openMaxOf, type Subscriber } from '../endpoints/endpoint.ts';
import type { LoggedBatch, StreamEvent } from '../log/logged-batch.ts';
import {
  earliest,
  isBefore,
  isSame,
  type LogPoint,
  type Offset,
  type OpenEvent,
  type StoredOffset,
} from '../log/offsets.ts';
import type { Window } from '../log/window.ts';
import type { Match } from '../matching/match.ts';
import type { Claim } from '../owning/partition-claims.ts';
import { delayAfter, type DeliveryState, stateOf } from './delivery-state.ts';

export interface Delivery extends LogPoint {
  attempts: number;
  /** When the next attempt is due, by `performance.now()`. */
  dueAt: number;
  inFlightSince: number | undefined;
  isTrial: boolean;
  /** Whether the receiver has accepted the event, which stays open while an earlier change of the endpoint is being stored. */
  isDelivered: boolean;
  retryAfterMs?: number | undefined;
}

type NextStep =
  | { kind: 'deliver'; delivery: Delivery; event: StreamEvent }
  | { kind: 'wait'; ms: number }
  | { kind: 'load'; sequence: number }
  | { kind: 'nothing' };

/** Every attempt has ended this long after its begin. */
const deadlineMs = limits.deliveryDeadlineMs + 500;

export interface QueueOptions {
  subscriber: Subscriber;
  integration: string;
  claim: Pick<Claim, 'stream' | 'term' | 'silentAt'>;
  window: Window;
  match: Match;
  /** Returns the signal that aborts the attempts in flight when the partition is released or lost. */
  cutOff: () => AbortSignal;
  /** The sequence, or the stored offset, at which the queue begins. */
  from: number | StoredOffset;
  nowMs: number;
  now: number;
}

export class EndpointQueue {
  readonly id: string;
  readonly integration: string;
  readonly claim: QueueOptions['claim'];
  readonly window: Window;
  readonly cutOff: QueueOptions['cutOff'];
  subscriber: Subscriber;
  /** The delivery state that the owner has decided. It may not be stored yet. */
  state: DeliveryState;
  /** Resolves once a change of `state` is stored. Until then no attempt begins, and no other change is applied. */
  storing: Promise<void> | undefined;
  /** For each change of the endpoint that waits for `storing`: where the log reader was when this replica found the change. */
  readonly changesFound: number[] = [];
  /** The epochs of the endpoint for which this replica has stored, or is storing, the missed events. */
  readonly toldMissed: number[] = [];
  /** The missed events that are being stored. Until MongoDB has them, they are the offset, even if the endpoint is enabled again. */
  telling: StoredOffset | undefined;
  /** True while the partition is being released: no attempt begins. */
  isPaused = false;
  /** Until when, by `performance.now()`, no attempt begins, because the receiver sent `Retry-After`. */
  restsUntil = 0;
  /** True if the endpoint is deleted, or no longer in the memory of this replica. */
  isEnded = false;
  isDeleted = false;
  inFlight = 0;
  begun = 0;
  readonly #match: Match;
  /** Failed events (trials) at or after the cursor: they failed after the offset was stored. */
  readonly #triedLater: readonly Delivery[];
  #cursor: LogPoint;
  #open: Delivery[];
  /** The indexes of the endpoint's events in the batch at the cursor. */
  #matched: { batch: LoggedBatch; subscriber: Subscriber; indexes: readonly number[] } | undefined;

  constructor(options: QueueOptions) {
    const { subscriber, integration, claim, window, match } = options;
    const { from, nowMs, now } = options;
    this.id = subscriber._id;
    this.integration = integration;
    this.claim = claim;
    this.window = window;
    this.cutOff = options.cutOff;
    this.subscriber = subscriber;
    this.state = stateOf(subscriber);
    this.#match = match;
    const { sequence, index, open } =
      typeof from === 'number' ? { sequence: from, index: 0, open: [] } : from;
    this.#cursor = { sequence, index };
    const trials = this.state.trials.filter((one) => isTrialOf(claim.stream, one));
    // An offset may be older than a trial of the same event: the larger number of attempts is correct.
    const newest = open.map(
      (one) => trials.find((trial) => isSame(trial, one) && trial.attempts > one.attempts) ?? one,
    );
    const read = (one: OpenEvent): Delivery => opened(one, subscriber, nowMs, now);
    this.restsUntil = Math.max(0, ...newest.concat(trials).map((one) => restOf(read(one))));
    this.#open = newest.filter((one) => !isGivenUp(one)).map(read);
    this.#triedLater = trials.filter((trial) => !isBefore(trial, this.#cursor)).map(read);
    const [first] = trials;
    const trial = first === undefined ? undefined : this.find(first);
    if (trial !== undefined && !this.state.isCircuitClosed) this.#try(trial);
  }

  /** The next step: to send an event, to wait, or to load a chunk. At most `inFlightMax` attempts may be in flight. */
  next(now: number, inFlightMax: number): NextStep {
    if (this.isPaused || this.storing !== undefined || this.isEnded || !this.state.isActive)
      return { kind: 'nothing' };
    const restsUntil = Math.max(this.restsUntil, this.#silentUntil);
    if (restsUntil > now) return waitFor(restsUntil, now);
    if (this.inFlight >= inFlightMaxOf(this.subscriber)) return { kind: 'nothing' };
    return this.state.isCircuitClosed ? this.#nextOfMany(now, inFlightMax) : this.#nextTrial(now);
  }

  begin(delivery: Delivery, now: number): void {
    if (!this.#open.includes(delivery)) {
      this.#open.push(delivery);
      this.#cursor = { sequence: delivery.sequence, index: delivery.index + 1 };
    }
    if (!this.state.isCircuitClosed) this.#try(delivery);
    delivery.inFlightSince = now;
    this.inFlight += 1;
    this.begun += 1;
  }

  /** Removes an open event that is delivered or given up, or whose endpoint is deleted. */
  finish(delivery: Delivery): void {
    this.#land(delivery);
    this.#open = this.#open.filter((one) => one !== delivery);
  }

  again(delivery: Delivery, isTrial: boolean): void {
    this.#land(delivery);
    // A reset drops the events of attempts in flight. A dropped event must not replace an open event as the trial.
    if (isTrial && this.#open.includes(delivery)) this.#try(delivery);
  }

  /** Ends an attempt that was not sent, or whose event the endpoint misses; it does not count as an attempt. */
  wait(delivery: Delivery, dueAt: number): void {
    this.#land(delivery);
    delivery.dueAt = dueAt;
  }

  find(point: LogPoint): Delivery | undefined {
    return this.#open.find((one) => isSame(one, point));
  }

  /** The sequence of the first batch with an undelivered event; Infinity if all events are delivered. */
  firstUndelivered(): number {
    if (this.isEnded) return Infinity;
    const missed = this.telling === undefined ? Infinity : firstOf(this.telling);
    if (!this.state.isActive) return missed;
    const first = Math.min(missed, ...this.#open.map(({ sequence }) => sequence));
    const next = this.#atCursor();
    return next === 'end' ? first : Math.min(first, this.#cursor.sequence);
  }

  /** The epoch of the endpoint to which `offset` belongs. */
  get offsetEpoch(): number {
    return this.telling?.epoch ?? this.state.epoch;
  }

  /** The offset for the next owner. Leaves out events that are delivered or given up, even if that outcome is not stored yet. */
  offset(nowMs: number, now: number): StoredOffset {
    if (this.telling !== undefined) return this.telling;
    const undelivered = this.#open.filter((one) => !one.isDelivered && !isGivenUp(one));
    return this.#offsetOf(undelivered, nowMs, now);
  }

  #offsetOf(deliveries: readonly Delivery[], nowMs: number, now: number): StoredOffset {
    const open = deliveries.map((one) => stored(one, nowMs, now));
    return { ...this.#cursor, epoch: this.state.epoch, open };
  }

  /** The undelivered events: those of `offset` if given, else those that this queue has now. */
  missed(offset?: Offset): Required<Missed> {
    const undelivered = this.#open.filter(({ isDelivered }) => !isDelivered);
    const { sequence, index, open } = offset ?? this.#offsetOf(undelivered, Date.now(), performance.now());
    const { stream, term } = this.claim;
    return { sequence, index, open, stream, term };
  }

  /** Empties the queue, which then begins at this sequence. Attempts in flight count towards the in-flight limit. */
  reset(sequence: number): void {
    this.#open = [];
    this.restsUntil = 0;
    this.#cursor = { sequence, index: 0 };
  }

  /** Drops the `Retry-After` of the former receiver, because the url of the endpoint has changed. */
  forgetRetryAfter(): void {
    this.restsUntil = 0;
    for (const one of this.#open) withoutRetryAfter(one);
  }

  /** An in-flight limit that a caller sets includes the attempts of a silent former owner, until they have ended. */
  get #silentUntil(): number {
    const { silentAt } = this.claim;
    return silentAt === undefined || this.subscriber.inFlightMax === undefined ? 0 : silentAt + deadlineMs;
  }

  #try(trial: Delivery): void {
    for (const one of this.#open) one.isTrial = one === trial;
  }

  #land(delivery: Delivery): void {
    if (delivery.inFlightSince !== undefined) this.inFlight -= 1;
    delivery.inFlightSince = undefined;
  }

  #nextTrial(now: number): NextStep {
    const trial = this.#open.find(({ isTrial }) => isTrial);
    if (trial?.inFlightSince !== undefined) return { kind: 'nothing' };
    const next = trial ?? earliest(this.#open.filter(isWaiting));
    return next === undefined ? this.#fromLog(now) : this.#stepOf(next, now);
  }

  #nextOfMany(now: number, inFlightMax: number): NextStep {
    if (this.inFlight >= inFlightMax) return { kind: 'nothing' };
    const waiting = this.#open.filter(isWaiting);
    const due = earliest(waiting.filter(({ dueAt }) => dueAt <= now));
    if (due !== undefined) return this.#stepOf(due, now);
    if (this.#open.length < openMaxOf(this.subscriber)) {
      const step = this.#fromLog(now);
      if (step.kind !== 'nothing') return step;
    }
    const soonest = Math.min(...waiting.map(({ dueAt }) => dueAt));
    return soonest === Infinity ? { kind: 'nothing' } : waitFor(soonest, now);
  }

  #stepOf(delivery: Delivery, now: number): NextStep {
    if (delivery.dueAt > now) return waitFor(delivery.dueAt, now);
    const event = this.#eventOf(delivery);
    if (event === undefined) return { kind: 'load', sequence: delivery.sequence };
    // The log reader began at a floor before the stored offset, and has not reached this event yet.
    if (event === 'end') return { kind: 'nothing' };
    if (event !== 'gone') return { kind: 'deliver', delivery, event };
    this.finish(delivery);
    return this.next(now, Infinity);
  }

  #fromLog(now: number): NextStep {
    const event = this.#atCursor();
    if (event === undefined) return { kind: 'load', sequence: this.#cursor.sequence };
    if (event === 'end') return { kind: 'nothing' };
    const { sequence, index } = this.#cursor;
    const trial = this.#triedLater.find((one) => isSame(one, this.#cursor));
    const delivery = trial ?? untried(sequence, index);
    const isDone = trial !== undefined && isGivenUp(trial);
    if (!isDone && delivery.dueAt <= now) return { kind: 'deliver', delivery, event };
    if (!isDone) this.#open.push(delivery);
    this.#cursor = { sequence, index: index + 1 };
    return this.next(now, Infinity);
  }

  /** The next event at or after the cursor; moves the cursor past events that are not for the endpoint. */
  #atCursor(): StreamEvent | 'end' | undefined {
    for (;;) {
      const batch = this.window.at(this.#cursor.sequence);
      if (batch === undefined || batch === 'end') return batch;
      const { index } = batch.sequence === this.#cursor.sequence ? this.#cursor : { index: 0 };
      const next = this.#indexesOf(batch).find((one) => one >= index);
      const event = next === undefined ? undefined : batch.events()[next];
      if (next !== undefined && event !== undefined) {
        this.#cursor = { sequence: batch.sequence, index: next };
        return event;
      }
      this.#cursor = { sequence: batch.sequence + 1, index: 0 };
    }
  }

  #indexesOf(batch: LoggedBatch): readonly number[] {
    const { subscriber } = this;
    if (this.#matched?.batch !== batch || this.#matched.subscriber !== subscriber)
      this.#matched = { batch, subscriber, indexes: this.#match(batch, subscriber) };
    return this.#matched.indexes;
  }

  #eventOf({ sequence, index }: LogPoint): StreamEvent | 'gone' | 'end' | undefined {
    const batch = this.window.at(sequence);
    if (batch === undefined || batch === 'end') return batch;
    return batch.sequence === sequence ? (batch.events()[index] ?? 'gone') : 'gone';
  }
}

const untried = (sequence: number, index: number): Delivery => ({
  sequence,
  index,
  attempts: 0,
  dueAt: 0,
  inFlightSince: undefined,
  isTrial: false,
  isDelivered: false,
});

const stored = (one: Delivery, nowMs: number, now: number): OpenEvent => ({
  sequence: one.sequence,
  index: one.index,
  attempts: one.attempts,
  dueAtMs: Math.round(nowMs + Math.max(one.dueAt - now, 0)),
  ...(one.retryAfterMs === undefined || one.retryAfterMs === 0 ? {} : { retryAfterMs: one.retryAfterMs }),
});

/** Reads a stored open event. The event waits no longer than its delay, even if the clock of a machine was set back. */
function opened(
  event: OpenEvent,
  { movedAt }: Pick<Subscriber, 'movedAt'>,
  nowMs: number,
  now: number,
): Delivery {
  const { sequence, index, attempts, dueAtMs, retryAfterMs = 0 } = event;
  const delayMaxMs = Math.max(attemptDelaysMs[attempts] ?? 0, deadlineMs, retryAfterMs);
  const dueAt = now + Math.min(Math.max(dueAtMs - nowMs, 0), delayMaxMs);
  const delivery: Delivery = { ...untried(sequence, index), attempts, dueAt, retryAfterMs };
  const failedAtMs = dueAtMs - delayAfter(attempts, retryAfterMs);
  if (movedAt !== undefined && movedAt.getTime() >= failedAtMs) withoutRetryAfter(delivery);
  return delivery;
}

/** Until when the receiver has asked for no attempt with its answer to this event, by `performance.now()`. */
function restOf({ attempts, dueAt, retryAfterMs = 0 }: Delivery): number {
  return retryAfterMs === 0 ? 0 : dueAt - delayAfter(attempts, retryAfterMs) + retryAfterMs;
}

function withoutRetryAfter(delivery: Delivery): void {
  const { attempts, retryAfterMs = 0 } = delivery;
  delivery.dueAt -= delayAfter(attempts, retryAfterMs) - delayAfter(attempts, 0);
  delivery.retryAfterMs = 0;
}

const firstOf = ({ sequence, open }: Offset): number =>
  Math.min(sequence, ...open.map((one) => one.sequence));

/** Whether the event has no attempt left. A former owner that died may not have removed such an event from the open events. */
const isGivenUp = ({ attempts }: Pick<OpenEvent, 'attempts'>): boolean => attempts >= attemptDelaysMs.length;

const waitFor = (time: number, now: number): NextStep => ({ kind: 'wait', ms: time - now });

const isWaiting = ({ inFlightSince }: Delivery): boolean => inFlightSince === undefined;
