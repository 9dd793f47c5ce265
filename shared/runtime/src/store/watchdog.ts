// Whether the database answers.
//
// The driver notices a server that was killed. It does not notice one that stands still, or whose own storage does:
// connections stay open, and an operation waits until some long time-out, which cannot be a short one, since a large
// write on a busy server takes seconds too. So the watchdog tells the two apart by a small question that any living
// server answers at once, asked on a connection of its own where it never queues.
//
//   asked every 0.5 s ── no answer for 2 s ──▶ away: what is under way fails, and so does what comes
//                     ◀── the next answer ────
//
// An operation that ends well is an answer too, so that the watchdog takes nothing but silence for silence.
import { setTimeout as wait } from 'node:timers/promises';
import type { Log } from '../log.ts';
import { DatabaseAway, openOperations, type OperationsOptions } from './mongodb-driver/operations.ts';

export interface Watchdog extends Disposable {
  readonly connected: boolean;
  /** Resolves with the first answer; rejects with an error that waiting will not mend. */
  readonly firstAnswer: Promise<void>;
  /** The driver ended its connections: what is under way ends soon, or never. */
  connectionsEnded(): void;
  /** The operation's own outcome, or DatabaseAway as soon as the database is. */
  during<T>(operation: () => Promise<T>): Promise<T>;
}

export interface WatchdogOptions extends OperationsOptions {
  ask: () => Promise<unknown>;
  /** Whether waiting may mend it. */
  passing: (error: unknown) => boolean;
  log: Log;
}

const askEveryMs = 500;
const tickMs = 100;
const silentTicksMax = 20;
const sayEveryTicks = 50;

export function startWatchdog({ ask, passing, onLost, log }: WatchdogOptions): Watchdog {
  const operations = openOperations({ onLost, log });
  const first = Promise.withResolvers<void>();
  const stop = new AbortController();
  let connected = false;
  let silentTicks = 0;
  let reason: unknown;

  const answered = (): void => {
    if (!connected) log.info('MongoDB answers');
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

  // The watchdog counts silence in ticks and reads no clock: a time in which this process itself stood still, and
  // could not hear an answer, counts as one tick.
  const ticks = setInterval(() => {
    operations.tick();
    silentTicks += 1;
    if (silentTicks >= silentTicksMax && connected) {
      connected = false;
      operations.failAll(new DatabaseAway('MongoDB stopped answering', { cause: reason }));
    }
    if (!connected && silentTicks % sayEveryTicks === silentTicksMax) {
      log.warn({ silentMs: silentTicks * tickMs, reason: wordsOf(reason) }, 'waiting for MongoDB');
    }
  }, tickMs);

  first.promise.catch(() => {}); // The process may have stopped waiting for it.
  void keepAsking();
  return {
    get connected() {
      return connected;
    },
    firstAnswer: first.promise,
    connectionsEnded() {
      // While the database does not answer, no operation begins; and the first connections of all ended nothing.
      operations.connectionsEnded(connected);
    },
    during<T>(operation: () => Promise<T>) {
      if (!connected)
        return Promise.reject<T>(new DatabaseAway('MongoDB does not answer', { cause: reason }));
      const outcome = operations.run(operation);
      outcome.then(answered, () => {});
      return outcome;
    },
    [Symbol.dispose]() {
      stop.abort();
      clearInterval(ticks);
    },
  };
}

const wordsOf = (reason: unknown): string => (reason instanceof Error ? reason.message : 'no answer');
