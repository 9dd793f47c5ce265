// The delivery state of one endpoint, and how the outcome of each attempt changes the state. The owner of the partition alone
// keeps this state and stores it. This file neither waits, stores nor sends.
//
//   what happens                              circuit    failures   event of the attempt        stored in MongoDB
//   ────────────────────────────────────────  ─────────  ─────────  ──────────────────────────  ──────────────────────────
//   2xx, circuit closed                       –          –          delivered                   no
//   2xx, circuit open                         closed     0          delivered                   now
//   2xx of the former url                     –          –          delivered                   no
//   a failure that counts, the 1st to 9th     open       +1         again after 1, 5, 30 s, on  now
//                                                                   trial; the 4th: given up
//   a failure that does not count             –          –          again; the 4th: given up    with the offset, soon
//   the 10th in a row that counts             open       10         missed (4th: given up)      now, disabled: failures
//   410 of the present url                    open       +1 or –    missed (4th: given up)      now, disabled: gone
//   any end after a disabling                 –          –          missed                      no
//   a newer version: the url has changed      open       –          –                           no
//   a newer version: disabled, or enabled     open       as stored  all undelivered are missed  no (the owner stores `missed`)
//   a newer version: anything else            –          –          –                           no
//
// *1st* to *10th* number the endpoint's failures in a row, *the 4th* is the last attempt at the event, *again* is after 1, 5 or
// 30 s. An attempt that was not sent, or was cut off, changes nothing: its event waits, and the attempt is not used up. *Now*
// means before another attempt of the endpoint begins. A failure counts if, since its attempt began, no other failure was counted
// and the url did not change. After a 429 or 503 with Retry-After, no attempt at the endpoint begins for that time
// (sending/attempt-outcome.ts has the cap).
//
// So if each attempt fails immediately, an endpoint has attempts at 0, 1, 6, 36 s (first event), 36, 37, 42, 72 s (second) and
// 72, 73 s (third): the tenth failure in a row, after 73 s, disables the endpoint.
import { attemptDelaysMs, limits } from '@integration-sync/contracts';
import { isTrialOf, type Subscriber, type Trial } from '../endpoints/endpoint.ts';
import { isSame } from '../log/offsets.ts';
import type { Verdict } from '../sending/attempt-outcome.ts';

export interface DeliveryState {
  /** The version and the epoch of the endpoint that the owner has applied. */
  readonly version: number;
  readonly epoch: number;
  readonly url: string;
  readonly isActive: boolean;
  readonly isCircuitClosed: boolean;
  readonly failures: number;
  /** The round rises with each counted failure and each new url. A failure does not count if the round rose meanwhile. */
  readonly round: number;
  /**
   * Events whose attempts failed; first the event of the last failure that counted, which is on trial. Delivered events may
   * remain here, because a new owner ignores them.
   */
  readonly trials: readonly Trial[];
}

export interface Change {
  verdict: Verdict;
  /** The version, the url and the epoch of the endpoint with which the attempt was made, and the round in which it began. */
  version: number;
  url: string;
  epoch: number;
  round: number;
  /** The event of the attempt. Its number of attempts includes this attempt; its due time is that of the next attempt. */
  tried: Trial;
  trialsMax: number;
}

export interface Step {
  state: DeliveryState;
  event: 'delivered' | 'again' | 'given up' | 'missed';
  counts: boolean;
  store: 'now' | 'soon' | 'no';
  disable?: 'failures' | 'gone' | undefined;
}

/** The delivery state that an endpoint in MongoDB has. The stored field `open` is true while the circuit is closed. */
export const stateOf = (found: Subscriber): DeliveryState => ({
  version: found.version,
  epoch: found.epoch,
  url: found.url,
  isActive: found.active,
  isCircuitClosed: found.open,
  failures: found.failures,
  round: 0,
  trials: found.trials ?? [],
});

export function step(state: DeliveryState, change: Change): Step {
  const { verdict, tried, trialsMax } = change;
  const unchanged = { state, counts: false, store: 'no' } as const;
  const isFormer = change.version < state.version && change.url !== state.url;
  if (!state.isActive || change.epoch !== state.epoch)
    return { ...unchanged, event: verdict === 'succeeded' ? 'delivered' : 'missed' };
  if (verdict === 'succeeded') {
    if (state.isCircuitClosed || isFormer) return { ...unchanged, event: 'delivered' };
    const closed = { ...state, isCircuitClosed: true, failures: 0 };
    return { state: closed, event: 'delivered', counts: false, store: 'now' };
  }
  const counts = change.round === state.round;
  const failures = state.failures + (counts ? 1 : 0);
  const isGone = verdict === 'gone' && !isFormer;
  const disable = isGone ? 'gone' : failures >= limits.failuresBeforeDisabling ? 'failures' : undefined;
  const isLast = attemptDelaysMs[tried.attempts] === undefined;
  const event = isLast ? 'given up' : disable === undefined ? 'again' : 'missed';
  const others = state.trials.filter((one) => isTrialOf(tried.stream, one) && !isSame(one, tried));
  const [first, ...rest] = others;
  const trials = counts || first === undefined ? [tried, ...others] : [first, tried, ...rest];
  if (disable === undefined) {
    const next = { ...state, failures, trials: trials.slice(0, trialsMax) };
    if (!counts) return { state: next, event, counts, store: 'soon' };
    const opened = { ...next, isCircuitClosed: false, round: state.round + 1 };
    return { state: opened, event, counts, store: 'now' };
  }
  const { version, epoch } = state;
  const ended = { version: version + 1, epoch: epoch + 1, isActive: false, isCircuitClosed: false };
  return { state: { ...state, ...ended, failures, trials: [] }, event, counts, store: 'now', disable };
}

/** The delivery state after the owner has applied a version of the endpoint; the same object if the version is not newer. */
export function applied(state: DeliveryState, found: Subscriber): DeliveryState {
  if (found.version <= state.version && found.epoch <= state.epoch) return state;
  const stored = stateOf(found);
  if (stored.epoch !== state.epoch || stored.isActive !== state.isActive) return stored;
  const isSameUrl = stored.url === state.url;
  return {
    ...state,
    version: stored.version,
    url: stored.url,
    isCircuitClosed: state.isCircuitClosed && isSameUrl,
    round: state.round + (isSameUrl ? 0 : 1),
  };
}

/** Whether a change of the delivery state makes the undelivered events missed, because the endpoint was disabled or enabled. */
export const begins = (former: DeliveryState, state: DeliveryState): boolean =>
  state.epoch !== former.epoch || (state.isActive && !former.isActive);

/** How long after the failure of its attempt `number` the next attempt of an event is due. */
export const delayAfter = (number: number, retryAfterMs: number): number =>
  Math.max(attemptDelaysMs[number] ?? 0, retryAfterMs);
