// Decides what one attempt means for its event and for its endpoint. This file neither waits, stores nor sends.
//
//   the attempt        its event                        the counter          the endpoint
//   ─────────────────  ───────────────────────────────  ───────────────────  ─────────────────────────────
//   2xx                delivered                        0                    circuit closed
//   fails, 1st to 3rd  again after +1 s, +5 s, +30 s    +1                   circuit open, this event on trial
//   fails, 4th         given up                         +1                   circuit open, next event on trial
//   fails, the 10th    missed (given up if its 4th)     10                   disabled: failures
//   410, any           missed (given up if its 4th)     +1                   disabled: gone
//
// A failure does not count if another failure was counted while the attempt was in flight. Then the counter and the circuit
// stay unchanged, but the event has used up one of its four attempts. A 410 disables the endpoint even if it does not count.
// After a 429 or 503 with Retry-After, no attempt at the endpoint begins for that time (sending/outcome.ts has the cap).
// Missed events were open when their endpoint was disabled; a replay or a recovery sends them.
//
// So an endpoint that never answers is tried at 0, 1, 6, 36 s (first event), 36, 37, 42, 72 s (second)
// and 72, 73 s (third). The tenth failure in a row disables the endpoint.
import { attemptDelaysMs, limits } from '@integration-sync/contracts';
import type { Verdict } from '../sending/outcome.ts';

/** A failed attempt. */
export interface Attempt {
  /** 1 for an event's first attempt. */
  number: number;
  verdict: Exclude<Verdict, 'succeeded'>;
  /** Whether no other failure was counted since the attempt began. */
  counts: boolean;
  /** The endpoint's counter before this attempt. */
  failures: number;
}

export interface Next {
  event: 'again' | 'given up' | 'missed';
  failures: number;
  circuit: 'open' | 'unchanged';
  disable?: 'failures' | 'gone' | undefined;
}

export function decideNext({ number, verdict, counts, failures }: Attempt): Next {
  const counted = failures + (counts ? 1 : 0);
  const disable =
    verdict === 'gone' ? 'gone' : counted >= limits.failuresBeforeDisabling ? 'failures' : undefined;
  const isLast = attemptDelaysMs[number] === undefined;
  return {
    event: isLast ? 'given up' : disable === undefined ? 'again' : 'missed',
    failures: counted,
    circuit: counts || disable !== undefined ? 'open' : 'unchanged',
    disable,
  };
}

/** How long after the failure of its attempt `number` the next attempt of an event is due. */
export const delayAfter = (number: number, retryAfterMs: number): number =>
  Math.max(attemptDelaysMs[number] ?? 0, retryAfterMs);
