// The same work again until it is done. Whoever begins it says for which errors it is done again, and how long a pause is.
import { setTimeout as wait } from 'node:timers/promises';
import type { Log } from './log.ts';

export interface RetryOptions {
  /** Whether the work is done again after this error, which was that of so many tries in so long. */
  mayRetry: (error: unknown, failed: { tries: number; forMs: number }) => boolean;
  /** Between two tries. Where it rejects, the work is given up. */
  pause: () => Promise<unknown>;
}

/** Rejects with the error of the last try. */
export async function retry<T>(work: () => Promise<T>, { mayRetry, pause }: RetryOptions): Promise<T> {
  const beganAt = performance.now();
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!mayRetry(error, { tries, forMs: performance.now() - beganAt })) throw error;
    }
    await pause();
  }
}

export type Retry = <T>(what: string, work: () => Promise<T>) => Promise<T>;

const retryMs = 500;
/** An engine that is away is not worth a line per delivery and half second. */
const triesPerLine = 20;

/** For what must be stored because it has already happened. It is given up when the signal says so. */
export const openRetry =
  (log: Log, signal: AbortSignal): Retry =>
  (what, work) =>
    retry(work, {
      mayRetry(error, { tries }) {
        signal.throwIfAborted();
        if (tries === 1 || tries % triesPerLine === 0)
          log.warn({ err: error, what, tries }, 'not done, trying again');
        return true;
      },
      pause: () => wait(retryMs, undefined, { signal }),
    });
