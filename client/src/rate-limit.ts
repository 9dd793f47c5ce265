// Computes when the next request may be sent, from the headers `RateLimit-Limit`, `-Remaining` and `-Reset` of answers. The
// service counts requests in windows of time, of which each begins with a request. `-Reset` is in whole seconds, so only the
// first answer of a window says precisely when the window ends:
//
//   first request  answer: remaining = limit - 1, reset = length   the window ends this length after the sending
//   later request  answer: remaining falls, reset is rounded up    the window ends no later than the reset
//   none left      the next request waits for the end and a margin: requests take different times to arrive
//
// A 429 delays all requests for its Retry-After, and doubles the margin; each window makes the margin a tenth shorter.
import { Unreachable } from './errors.ts';
import { wait } from './waiting.ts';

export interface Pacer {
  /**
   * Waits until a request may be sent, and returns the number of its window. Throws if a 429 delays all requests beyond
   * `until`.
   */
  turn(signal: AbortSignal | undefined, until: number): Promise<number>;
  /** Reads the rate limit from the headers of the answer to a request of the window. */
  learn(window: number, headers: Headers, sentAt: number): void;
  /** Delays all requests until the time `until`. */
  hold(until: number): void;
}

/** A monotonic clock: it does not change when the machine's clock is set. */
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
          throw new Unreachable('The Retry-After of a 429 is longer than a call may take.');
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
      // An answer to a request of an earlier window is ignored, because it says nothing about the present window.
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
