// The watchdog tells whether the database answers.
//
// The driver notices a killed server, but not a frozen server, or a server whose storage is frozen: connections stay open, and an
// operation waits for the socket time-out. That time-out must be long, as a large write on a busy server takes seconds. So the
// watchdog pings the server on its own connection, which no operation delays.
//
//   a ping every 0.5 s ── no answer for 2 s ──▶ away: running and new operations fail
//                      ◀── the next answer ────
//
// A successful operation counts as an answer too.
import { setTimeout as wait } from 'node:timers/promises';
import type { Log } from '../log.ts';
import { DatabaseAway, openOperations, type OperationsOptions } from './mongodb-driver/running-operations.ts';

export type Watchdog = ReturnType<typeof startWatchdog>;

export interface WatchdogOptions extends OperationsOptions {
  ask: () => Promise<unknown>;
  /** Whether waiting may mend the error. */
  passing: (error: unknown) => boolean;
  log: Log;
}

const askEveryMs = 500;
const tickMs = 100;
const silentTicksMax = 20;
const sayEveryTicks = 50;

export function startWatchdog({ ask, passing, onLost, log }: WatchdogOptions) {
  const operations = openOperations({ onLost, log });
  const first = Promise.withResolvers<void>();
  const stop = new AbortController();
  let connected = false;
  let silentTicks = 0;
  let reason: unknown;

  const answered = (): void => {
    if (!connected) log.info('MongoDB answers pings');
    connected = true;
    silentTicks = 0;
    reason = undefined;
    first.resolve();
  };

  const unanswered = (error: unknown): void => {
    reason = error;
    if (!passing(error)) first.reject(error);
  };

  const keepAsking = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await ask().then(answered, unanswered);
      await wait(askEveryMs, undefined, { signal: stop.signal }).catch(() => {});
    }
  };

  // The watchdog counts ticks and reads no clock: a time in which this process was frozen counts as one tick.
  const ticks = setInterval(() => {
    operations.tick();
    silentTicks += 1;
    if (silentTicks >= silentTicksMax && connected) {
      connected = false;
      operations.failAll(new DatabaseAway('MongoDB stopped answering', { cause: reason }));
    }
    if (!connected && silentTicks % sayEveryTicks === silentTicksMax) {
      log.warn(
        { setting: 'MONGODB_URL', silentMs: silentTicks * tickMs, reason: wordsOf(reason) },
        'waiting for MongoDB',
      );
    }
  }, tickMs);

  first.promise.catch(() => {}); // Prevents an unhandled rejection if no caller waits for the first answer.
  void keepAsking();
  return {
    get connected(): boolean {
      return connected;
    },
    /** Resolves with the first answer; rejects with an error that waiting cannot mend. */
    firstAnswer: first.promise,
    /** Notes that the driver has ended its connections: running operations end soon, or never. */
    connectionsEnded(): void {
      // If `connected` is false, no new operation can get a closing connection: the database is away, or never answered.
      operations.connectionsEnded(connected);
    },
    /** Runs the operation; rejects with `DatabaseAway` as soon as the database is away. */
    during<T>(operation: () => Promise<T>, { isBounded = true } = {}): Promise<T> {
      if (!connected)
        return Promise.reject<T>(new DatabaseAway('MongoDB does not answer', { cause: reason }));
      const outcome = operations.run(operation, { isBounded });
      outcome.then(answered, () => {});
      return outcome;
    },
    [Symbol.dispose](): void {
      stop.abort();
      clearInterval(ticks);
    },
  };
}

const wordsOf = (reason: unknown): string => (reason instanceof Error ? reason.message : 'no answer');
