// Trying again until it works: for what must be stored because it has already happened, and for what cannot go on
// before something is known.
import { setTimeout as wait } from 'node:timers/promises';
import type { Log } from '@integration-sync/runtime/log';

/** Without `forMs`, until it works; otherwise no try begins later than that after the first. */
export type Retry = <T>(what: string, work: () => Promise<T>, forMs?: number) => Promise<T>;

const retryMs = 500;

/** Gives up when the signal says so. */
export const openRetry =
  (log: Log, signal: AbortSignal): Retry =>
  async (what, work, forMs = Infinity) => {
    const endMs = performance.now() + forMs;
    for (let tries = 1; ; tries += 1) {
      try {
        return await work();
      } catch (error) {
        signal.throwIfAborted();
        if (performance.now() + retryMs > endMs) throw error;
        // An engine that is away is not worth a line per delivery and half second.
        if (tries === 1 || tries % 20 === 0) log.warn({ err: error, what, tries }, 'not done, trying again');
      }
      await wait(retryMs, undefined, { signal });
    }
  };
