// Looking at something again and again, one look after the other: one that is asked for during another follows it, however
// often it is asked for.
import type { Log } from '@integration-sync/runtime/log';

export interface Looks extends AsyncDisposable {
  look: () => void;
}

export interface LooksOptions {
  /** What is looked for, for the log. */
  what: string;
  /** Between two looks for which none asks. */
  everyMs: number;
  log: Log;
}

export function openLooks(lookOnce: () => Promise<void>, { what, everyMs, log }: LooksOptions): Looks {
  let looking: Promise<void> | undefined;
  let again = false;
  const closing = new AbortController();
  const lookOn = async (): Promise<void> => {
    do {
      again = false;
      try {
        await lookOnce();
      } catch (error) {
        log.debug({ err: error }, `looking for ${what} failed, trying again`);
      }
    } while (again && !closing.signal.aborted);
  };
  const look = (): void => {
    if (closing.signal.aborted) return;
    again = true;
    looking ??= lookOn().finally(() => (looking = undefined));
  };
  const timer = setInterval(look, everyMs);
  return {
    look,
    async [Symbol.asyncDispose]() {
      closing.abort();
      clearInterval(timer);
      await looking;
    },
  };
}
