// A check that is made again and again, never twice at once: one that is asked for during another follows it, however often
// it is asked for. A check that fails is made again at its next time.
import type { Log } from './log.ts';

export interface PeriodicCheck extends AsyncDisposable {
  /** Without waiting for its time. */
  readonly now: () => void;
}

export interface PeriodicCheckOptions {
  /** What is checked, for the log. */
  what: string;
  /** Between two checks for which none asks. */
  everyMs: number;
  log: Log;
}

export function openPeriodicCheck(
  check: () => Promise<void>,
  { what, everyMs, log }: PeriodicCheckOptions,
): PeriodicCheck {
  let checking: Promise<void> | undefined;
  let again = false;
  let isClosed = false;
  const checkOn = async (): Promise<void> => {
    do {
      again = false;
      try {
        await check();
      } catch (error) {
        log.debug({ err: error }, `a check of ${what} failed`);
      }
    } while (again);
  };
  const now = (): void => {
    if (isClosed) return;
    again = true;
    checking ??= checkOn().finally(() => (checking = undefined));
  };
  const timer = setInterval(now, everyMs);
  return {
    now,
    async [Symbol.asyncDispose]() {
      [isClosed, again] = [true, false];
      clearInterval(timer);
      await checking;
    },
  };
}
