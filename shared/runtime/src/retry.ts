// Repeats work until it succeeds. The caller decides which errors are retried, and how long each pause is.
import { setTimeout as wait } from 'node:timers/promises';
import type { Log } from './log.ts';

export interface RetryOptions {
  /** Whether to retry after this error. `failed`: the number of tries, and the time since the first. */
  mayRetry: (error: unknown, failed: { tries: number; forMs: number }) => boolean;
  /** The pause between two tries; a rejection ends the retries. */
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
/** Only the first and each twentieth try are logged: while MongoDB or NATS is away, each delivery retries twice a second. */
const triesPerLine = 20;

/** Retries until the signal aborts: deliveries that happened must be stored in the end. */
export const openRetry =
  (log: Log, signal: AbortSignal): Retry =>
  (what, work) =>
    retry(work, {
      mayRetry(error, { tries }) {
        signal.throwIfAborted();
        if (tries === 1 || tries % triesPerLine === 0)
          log.warn({ err: error, what, tries }, 'MongoDB or NATS failed, trying again');
        return true;
      },
      pause: () => wait(retryMs, undefined, { signal }),
    });
