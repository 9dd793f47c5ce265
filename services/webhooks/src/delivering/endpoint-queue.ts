// What one endpoint has not had yet, and which of it is next. Nothing here waits, stores or sends.
//
//   the circuit is   next is
//   ───────────────  ─────────────────────────────────────────────────────────────────────────────────────────────
//   closed           open events that are due, oldest first; else the next in the log. Eight are open at a time, or as
//                    many as the endpoint may have in flight
//   open             one trial at a time, on its own schedule: the event that failed last, else the oldest open one,
//                    else the next in the log
//
// An open event is in flight, or waits for its next attempt. All before the cursor that is not open is done. What is in
// flight at the owner before counts among what the endpoint may have in flight, until it is known to have ended.
import { attemptDelaysMs, limits } from '@integration-sync/contracts';
import { inFlightMaxOf, openMaxOf, type Subscriber } from '../endpoints/endpoint.ts';
import type { LoggedBatch, StreamEvent } from '../log/batch.ts';
import type { LogPoint, OpenEvent, StoredOffset } from '../log/offsets.ts';
import type { Window } from '../log/window.ts';
import type { Match } from '../matching/match.ts';

export interface Delivery extends LogPoint {
  /** How many of its attempts it has used up. */
  attempts: number;
  /** By `performance.now()`. */
  dueAt: number;
  inFlightSince: number | undefined;
  isTrial: boolean;
  /** In flight at the owner before. */
  heldBy?: string | undefined;
  /** How long its receiver has asked to wait, where it has. */
  retryAfterMs?: number | undefined;
}

export type NextStep =
  | { kind: 'deliver'; delivery: Delivery; event: StreamEvent }
  | { kind: 'wait'; ms: number }
  | { kind: 'load'; sequence: number }
  | { kind: 'nothing' };

export interface EndpointQueue {
  readonly id: string;
  readonly integration: string;
  subscriber: Subscriber;
  isCircuitClosed: boolean;
  /** Of the endpoint, when the circuit was last known: a look-up that began before may be older. */
  mark: number;
  /** Epochs of which this replica has said what was undelivered when they ended. */
  readonly toldMissed: Set<number>;
  /** Where it was when its offset was stored last; undefined while it keeps up. */
  behind: { since: number; savedAt: number; begun: number } | undefined;
  /** How many deliveries have begun. */
  readonly begun: number;
  /** While a failure is being stored, nothing begins. */
  pauses: number;
  /** Its receiver has asked for no attempt before that time, by `performance.now()`. */
  restsUntil: number;
  /** Ended for good: the endpoint is gone, or another replica's. */
  isEnded: boolean;
  readonly inFlight: number;
  /** What is to be done now, with so many in flight at most. It is not begun by that. */
  next(now: number, inFlightMax: number): NextStep;
  begin(delivery: Delivery, now: number): void;
  /** Delivered, given up, or no longer this endpoint's. */
  finish(delivery: Delivery): void;
  /** Another attempt at that time. */
  again(delivery: Delivery, again: Again): void;
  find(point: LogPoint): Delivery | undefined;
  /** The sequence of the first batch with something undelivered; Infinity where there is none. */
  firstUndelivered(): number;
  offset(nowMs: number, now: number): StoredOffset;
  /** The same for the next owner, which leaves what is in flight here alone until its deadline. */
  handover(nowMs: number, now: number, self: string): StoredOffset;
  /** What is in flight at a replica that is dead is due. True while something is at another one. */
  freeFrom(isAlive: (replica: string) => boolean): boolean;
  /** What another replica tried of the open events. */
  adopt(tried: readonly OpenEvent[], nowMs: number, now: number): void;
  /** Begins anew from there on, without open events. */
  reset(sequence: number): void;
}

interface Again {
  attempts: number;
  dueAt: number;
  isTrial: boolean;
  retryAfterMs?: number;
}

/** A little more than an attempt takes. */
export const deadlineMs = limits.deliveryDeadlineMs + 500;

export interface QueueOptions {
  subscriber: Subscriber;
  integration: string;
  window: Window;
  match: Match;
  /** Where it begins. */
  from: number | StoredOffset;
  /** Trials of which the endpoint knows better how often they were tried. */
  tried?: readonly OpenEvent[];
  /** Until then an owner that fell silent may have attempts in flight of which nobody knows. */
  quietUntil?: number;
  nowMs: number;
  now: number;
}

export function openEndpointQueue(options: QueueOptions): EndpointQueue {
  const { integration, window, match, from, tried = [], quietUntil = 0, nowMs, now: openedAt } = options;
  let cursor: LogPoint = typeof from === 'number' ? { sequence: from, index: 0 } : from;
  cursor = { sequence: cursor.sequence, index: cursor.index };
  let open: Delivery[] = [];
  let inFlight = 0;
  let begun = 0;
  /** Of the batch at the cursor. */
  let matched: { batch: LoggedBatch; subscriber: Subscriber; indexes: readonly number[] } | undefined;

  /** A clock that is set cannot make an event wait for longer than its own delay. */
  const opened = (
    { sequence, index, attempts, dueAtMs, heldBy, retryAfterMs = 0 }: OpenEvent,
    atMs = nowMs,
    at = openedAt,
  ): Delivery => ({
    sequence,
    index,
    attempts,
    dueAt:
      at +
      Math.min(
        Math.max(dueAtMs - atMs, 0),
        Math.max(attemptDelaysMs[attempts] ?? 0, deadlineMs, retryAfterMs),
      ),
    inFlightSince: undefined,
    isTrial: false,
    heldBy,
    retryAfterMs,
  });
  if (typeof from !== 'number') open = from.open.map((one) => opened(one));
  // What failed and is in no offset yet comes at the cursor or after it.
  const triedLater = tried.filter((trial) => !isBefore(trial, cursor));

  const indexesOf = (batch: LoggedBatch): readonly number[] => {
    const { subscriber } = queue;
    if (matched?.batch !== batch || matched.subscriber !== subscriber)
      matched = { batch, subscriber, indexes: match(batch, subscriber) };
    return matched.indexes;
  };

  const isHeld = ({ heldBy, dueAt }: Delivery, now: number): boolean => heldBy !== undefined && dueAt > now;

  /** Where as many are in flight as may be, here and at the owner before: until when. */
  const fullUntil = (now: number): NextStep | undefined => {
    const held = open.filter((one) => isHeld(one, now));
    if (inFlight + held.length < inFlightMaxOf(queue.subscriber)) return undefined;
    return held.length === 0
      ? { kind: 'nothing' }
      : waitFor(Math.min(...held.map(({ dueAt }) => dueAt)), now);
  };

  /** The next event at or after the cursor; moves the cursor over what is for others. */
  const atCursor = (): StreamEvent | 'end' | undefined => {
    for (;;) {
      const batch = window.at(cursor.sequence);
      if (batch === undefined || batch === 'end') return batch;
      const { index } = batch.sequence === cursor.sequence ? cursor : { index: 0 };
      const next = indexesOf(batch).find((one) => one >= index);
      const event = next === undefined ? undefined : batch.events()[next];
      if (next !== undefined && event !== undefined) {
        cursor = { sequence: batch.sequence, index: next };
        return event;
      }
      cursor = { sequence: batch.sequence + 1, index: 0 };
    }
  };

  const eventOf = ({ sequence, index }: LogPoint): StreamEvent | 'gone' | 'end' | undefined => {
    const batch = window.at(sequence);
    if (batch === undefined || batch === 'end') return batch;
    return batch.sequence === sequence ? (batch.events()[index] ?? 'gone') : 'gone';
  };

  const stepOf = (delivery: Delivery, now: number): NextStep => {
    if (delivery.dueAt > now) return waitFor(delivery.dueAt, now);
    const event = eventOf(delivery);
    if (event === undefined) return { kind: 'load', sequence: delivery.sequence };
    // A floor may be older than an offset: the reader comes to it.
    if (event === 'end') return { kind: 'nothing' };
    if (event !== 'gone') return { kind: 'deliver', delivery, event };
    // The log has lost it.
    queue.finish(delivery);
    return queue.next(now, Infinity);
  };

  const fromLog = (now: number): NextStep => {
    const event = atCursor();
    if (event === undefined) return { kind: 'load', sequence: cursor.sequence };
    if (event === 'end') return { kind: 'nothing' };
    const { sequence, index } = cursor;
    const trial = triedLater.find((one) => isSame(one, cursor));
    if (trial !== undefined && isGivenUp(trial)) {
      cursor = { sequence, index: index + 1 };
      return queue.next(now, Infinity);
    }
    const delivery =
      trial === undefined
        ? { sequence, index, attempts: 0, dueAt: 0, inFlightSince: undefined, isTrial: false }
        : opened(trial);
    if (delivery.dueAt <= now) return { kind: 'deliver', delivery, event };
    open.push(delivery);
    cursor = { sequence, index: index + 1 };
    return queue.next(now, Infinity);
  };

  const nextTrial = (now: number): NextStep => {
    const trial = open.find(({ isTrial }) => isTrial);
    if (trial?.inFlightSince !== undefined) return { kind: 'nothing' };
    const next = trial ?? oldest(open.filter(isWaiting));
    return next === undefined ? fromLog(now) : stepOf(next, now);
  };

  const nextOfMany = (now: number, inFlightMax: number): NextStep => {
    if (inFlight >= inFlightMax) return { kind: 'nothing' };
    const waiting = open.filter(isWaiting);
    const due = oldest(waiting.filter(({ dueAt }) => dueAt <= now));
    if (due !== undefined) return stepOf(due, now);
    if (open.length < openMaxOf(queue.subscriber)) {
      const step = fromLog(now);
      if (step.kind !== 'nothing') return step;
    }
    const soonest = Math.min(...waiting.map(({ dueAt }) => dueAt));
    return soonest === Infinity ? { kind: 'nothing' } : waitFor(soonest, now);
  };

  const queue: EndpointQueue = {
    id: options.subscriber._id,
    integration,
    subscriber: options.subscriber,
    isCircuitClosed: options.subscriber.open,
    mark: options.subscriber.mark,
    toldMissed: new Set(),
    behind: undefined,
    get begun() {
      return begun;
    },
    pauses: 0,
    restsUntil: 0,
    isEnded: false,
    get inFlight() {
      return inFlight;
    },
    next(now, inFlightMax) {
      if (queue.pauses > 0 || queue.isEnded || !queue.subscriber.active) return { kind: 'nothing' };
      const restsUntil = Math.max(queue.restsUntil, quietUntil);
      if (restsUntil > now) return waitFor(restsUntil, now);
      const full = fullUntil(now);
      if (full !== undefined) return full;
      return queue.isCircuitClosed ? nextOfMany(now, inFlightMax) : nextTrial(now);
    },
    begin(delivery, now) {
      if (!open.includes(delivery)) {
        open.push(delivery);
        cursor = { sequence: delivery.sequence, index: delivery.index + 1 };
      }
      if (!queue.isCircuitClosed) for (const one of open) one.isTrial = one === delivery;
      delivery.inFlightSince = now;
      delivery.heldBy = undefined;
      inFlight += 1;
      begun += 1;
    },
    finish(delivery) {
      if (delivery.inFlightSince !== undefined) inFlight -= 1;
      delivery.inFlightSince = undefined;
      open = open.filter((one) => one !== delivery);
    },
    again(delivery, { attempts, dueAt, isTrial, retryAfterMs }) {
      if (delivery.inFlightSince !== undefined) inFlight -= 1;
      delivery.inFlightSince = undefined;
      delivery.attempts = attempts;
      delivery.dueAt = dueAt;
      delivery.retryAfterMs = retryAfterMs;
      if (isTrial) for (const one of open) one.isTrial = one === delivery;
    },
    find: (point) => open.find((one) => isSame(one, point)),
    firstUndelivered() {
      if (!queue.subscriber.active || queue.isEnded) return Infinity;
      const first = Math.min(...open.map(({ sequence }) => sequence));
      const next = atCursor();
      return next === 'end' ? first : Math.min(first, cursor.sequence);
    },
    offset: (atMs, at) => ({
      ...cursor,
      epoch: queue.subscriber.epoch,
      open: open.map((one) => ({
        sequence: one.sequence,
        index: one.index,
        attempts: one.attempts,
        dueAtMs: Math.round(atMs + Math.max(one.dueAt - at, 0)),
        ...(one.retryAfterMs === undefined || one.retryAfterMs === 0
          ? {}
          : { retryAfterMs: one.retryAfterMs }),
        // The owner after this one leaves it alone, too.
        ...(one.heldBy !== undefined && isHeld(one, at) ? { heldBy: one.heldBy } : {}),
      })),
    }),
    handover: (atMs, at, self) => {
      const offset = queue.offset(atMs, at);
      const withDeadlines = offset.open.map((one, place) => {
        const since = open[place]?.inFlightSince;
        return since === undefined
          ? one
          : { ...one, heldBy: self, dueAtMs: Math.round(atMs + since + deadlineMs - at) };
      });
      return { ...offset, open: withDeadlines };
    },
    freeFrom(isAlive) {
      for (const one of open) {
        if (one.heldBy === undefined || isAlive(one.heldBy)) continue;
        one.heldBy = undefined;
        one.dueAt = 0;
      }
      return open.some(({ heldBy }) => heldBy !== undefined);
    },
    adopt(some, atMs, at) {
      for (const trial of some) {
        const known = open.find((one) => isSame(one, trial));
        if (known === undefined || known.attempts >= trial.attempts) continue;
        if (isGivenUp(trial) && isWaiting(known)) {
          queue.finish(known);
          continue;
        }
        known.attempts = trial.attempts;
        known.dueAt = opened(trial, atMs, at).dueAt;
        known.retryAfterMs = trial.retryAfterMs;
        // Its attempt there has ended.
        known.heldBy = undefined;
      }
    },
    reset(sequence) {
      // What is in flight counts until it ends, and means nothing any more.
      open = [];
      queue.restsUntil = 0;
      cursor = { sequence, index: 0 };
    },
  };
  queue.adopt(tried, nowMs, openedAt);
  return queue;
}

const isSame = (one: LogPoint, other: LogPoint): boolean =>
  one.sequence === other.sequence && one.index === other.index;

/** The replica that tried it last may not have lived to store that it is done. */
const isGivenUp = ({ attempts }: OpenEvent): boolean => attempts >= attemptDelaysMs.length;

const isBefore = (one: LogPoint, other: LogPoint): boolean =>
  one.sequence < other.sequence || (one.sequence === other.sequence && one.index < other.index);

const waitFor = (time: number, now: number): NextStep => ({ kind: 'wait', ms: time - now });

const isWaiting = ({ inFlightSince }: Delivery): boolean => inFlightSince === undefined;

const oldest = (deliveries: readonly Delivery[]): Delivery | undefined =>
  deliveries.reduce<Delivery | undefined>(
    (first, one) => (first === undefined || isBefore(one, first) ? one : first),
    undefined,
  );
