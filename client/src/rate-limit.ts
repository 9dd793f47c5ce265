// When the next request may be sent, by the headers `RateLimit-Limit`, `-Remaining` and `-Reset` of answers. The
// service counts in windows that begin with a request. `-Reset` is in whole seconds, so only the first answer of a
// window says precisely when the window ends:
//
//   request sent   answer: remaining = limit - 1, reset = length   the window ends length after the sending
//   others         answer: remaining falls, reset is rounded up    the window ends no later than that
//   none left      the next waits for the end, and a little more: requests do not all take the same time to arrive
//
// A 429 holds all requests for its Retry-After, and makes "a little more" twice as long; each window makes it
// a tenth shorter.
import { Unreachable } from './errors.ts';
import { wait } from './waiting.ts';

export interface Pacer {
  /**
   * Waits until a request may be sent, and returns the number of its window. Throws if a 429 delays all requests beyond
   * `until`.
   */
  turn(signal: AbortSignal | undefined, until: number): Promise<number>;
  /** Takes in the headers of the answer to a request of that window. */
  learn(window: number, headers: Headers, sentAt: number): void;
  /** Delays all requests until that time. */
  hold(until: number): void;
}

/** A clock that goes on evenly when the machine's clock is set. */
const now = (): number => performance.now();

const marginMsMin = 20;
const marginMsMax = 160;

export function openPacer(): Pacer {
  let limit: number | undefined;
  let lengthMs = 0;
  let window = 0;
  let left = 0;
  let endsAt = 0;
  let heldUntil = 0;
  let marginMs = marginMsMin;

  /** How long the next request must still wait; 0 if it may be sent now. */
  const missingMs = (): number => {
    if (heldUntil > now()) return heldUntil - now();
    if (limit === undefined) return 0;
    const next = endsAt + marginMs;
    if (now() >= next) {
      window += 1;
      left = limit;
      endsAt = now() + lengthMs;
      marginMs = Math.max(marginMs * 0.9, marginMsMin);
    }
    return left > 0 ? 0 : next - now();
  };

  return {
    async turn(signal, until) {
      for (let ms = missingMs(); ms > 0; ms = missingMs()) {
        if (heldUntil > Math.max(until, now()))
          throw new Unreachable('An answer 429 asked to wait for longer than a call may take.');
        await wait(ms, signal);
      }
      left -= 1;
      return window;
    },
    learn(answered, headers, sentAt) {
      const told = readLimits(headers);
      if (told === undefined) return;
      const known = limit !== undefined;
      limit = told.limit;
      // An answer to a request of an earlier window says nothing about this window.
      if (known && answered !== window) return;
      if (told.remaining === limit - 1) {
        lengthMs = told.resetMs;
        endsAt = sentAt + lengthMs;
      } else {
        lengthMs = Math.max(lengthMs, told.resetMs);
        endsAt = known ? Math.min(endsAt, now() + told.resetMs) : now() + told.resetMs;
      }
      left = known ? Math.min(left, told.remaining) : told.remaining;
    },
    hold(until) {
      heldUntil = Math.max(heldUntil, until);
      endsAt = Math.min(endsAt, until - marginMs);
      marginMs = Math.min(2 * marginMs, marginMsMax);
    },
  };
}

function readLimits(headers: Headers): { limit: number; remaining: number; resetMs: number } | undefined {
  const [limit, remaining, reset] = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'].map(
    (name) => Number.parseInt(headers.get(name) ?? '', 10),
  );
  if (!(Number(limit) > 0 && Number(remaining) >= 0 && Number(reset) >= 0)) return undefined;
  return { limit: Number(limit), remaining: Number(remaining), resetMs: Number(reset) * 1_000 };
}
