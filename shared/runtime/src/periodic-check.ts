// Runs a check periodically, and no two runs at a time. Requests for a run during a run lead to one further run.
import type { Log } from './log.ts';

export type PeriodicCheck = ReturnType<typeof openPeriodicCheck>;

export interface PeriodicCheckOptions {
  /** The name of the check in log lines. */
  what: string;
  everyMs: number;
  log: Log;
}

export function openPeriodicCheck(check: () => Promise<void>, { what, everyMs, log }: PeriodicCheckOptions) {
  let checking: Promise<void> | undefined;
  let again = false;
  let isClosed = false;
  const checkOn = async (): Promise<void> => {
    do {
      again = false;
      try {
        await check();
      } catch (error) {
        log.debug({ err: error }, `a check of ${what} failed, trying again later`);
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
    async [Symbol.asyncDispose](): Promise<void> {
      [isClosed, again] = [true, false];
      clearInterval(timer);
      await checking;
    },
  };
}
