// Whether the database answers.
//
// The driver notices a server that was killed. It does not notice one that stands still, or whose own storage
// does: connections stay open, and an operation waits until some long time-out, which cannot be a short one,
// since a large write on a busy server takes seconds too. So the two are told apart by a small question that
// any living server answers at once, asked on a connection of its own where it never queues.
//
//   asked every 0.5 s ── no answer for 2 s ──▶ away: what is under way fails, and so does what comes
//                     ◀── the next answer ────
//
// An operation that ends well is an answer too, so that nothing but silence is taken for silence.
//
// An operation that the driver began on a connection that was just being closed never ends, though the database
// answers: the driver waits for a destroyed socket to drain (mongodb 7.9). So an operation is lost when its connections
// ended 1.5 s ago, or when it has taken longer than the driver gives any. One that begins right after some connection
// ended has 1.5 s as well: its own may have ended too, of which nothing else would ever tell.
import { setTimeout as wait } from 'node:timers/promises';
import type { Log } from '../log.ts';

/** The database fell silent. Whether the operation that was under way took effect is not known. */
export class DatabaseAway extends Error {
  override readonly name = 'DatabaseAway';
}

export interface Watchdog extends Disposable {
  readonly connected: boolean;
  /** Resolves with the first answer; rejects with an error that waiting will not mend. */
  readonly firstAnswer: Promise<void>;
  /** The driver ended its connections: what is under way ends soon, or never. */
  connectionsEnded(): void;
  /** The operation's own outcome, or DatabaseAway as soon as the database is. */
  during<T>(operation: () => Promise<T>): Promise<T>;
}

export interface WatchdogOptions {
  ask: () => Promise<unknown>;
  /** Whether waiting may mend it. */
  passing: (error: unknown) => boolean;
  /** So many operations were lost, each of which keeps a connection that is of no more use. */
  onLost: (operations: number) => void;
  log: Log;
}

const askEveryMs = 500;
const tickMs = 100;
const silentTicksMax = 20;
const sayEveryTicks = 50;
/** More than the time in which the driver gives up a connection that is silent. */
const operationTicksMax = 1_300;
const ticksAfterEnd = 15;
/** A connection that is noticed to have ended may be followed by others in the next moments. */
const suspectTicksMax = 3;

export function startWatchdog({ ask, passing, onLost, log }: WatchdogOptions): Watchdog {
  const first = Promise.withResolvers<void>();
  const stop = new AbortController();
  /** What fails each operation, and after how many ticks it is lost. */
  const underWay = new Map<(error: DatabaseAway) => void, number>();
  let connected = false;
  /** While there are some, what begins may have got a connection that is just being closed. */
  let suspectTicks = 0;
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

  const giveUpLost = (): void => {
    let lost = 0;
    for (const [fail, ticksLeft] of underWay) {
      underWay.set(fail, ticksLeft - 1);
      if (ticksLeft > 1) continue;
      fail(new DatabaseAway('The connection to MongoDB ended'));
      lost += 1;
    }
    if (lost === 0) return;
    log.warn({ operations: lost }, 'operations were lost with their connections');
    onLost(lost);
  };

  // Silence is counted in ticks, not read from a clock: a time in which this process itself stood still, and
  // could not have heard an answer, counts as one tick.
  const ticks = setInterval(() => {
    giveUpLost();
    suspectTicks = Math.max(0, suspectTicks - 1);
    silentTicks += 1;
    if (silentTicks >= silentTicksMax && connected) {
      connected = false;
      for (const fail of underWay.keys())
        fail(new DatabaseAway('MongoDB stopped answering', { cause: reason }));
    }
    if (!connected && silentTicks % sayEveryTicks === silentTicksMax) {
      log.warn({ silentMs: silentTicks * tickMs, reason: wordsOf(reason) }, 'waiting for MongoDB');
    }
  }, tickMs);

  first.promise.catch(() => {}); // nobody may be waiting for it any more
  void keepAsking();
  return {
    get connected() {
      return connected;
    },
    firstAnswer: first.promise,
    connectionsEnded() {
      // Of one that does not answer nothing is asked, and the first connections of all have ended nothing.
      if (connected) suspectTicks = suspectTicksMax;
      for (const [fail, ticksLeft] of underWay) underWay.set(fail, Math.min(ticksLeft, ticksAfterEnd));
    },
    during<T>(operation: () => Promise<T>) {
      if (!connected)
        return Promise.reject<T>(new DatabaseAway('MongoDB does not answer', { cause: reason }));
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      underWay.set(reject, suspectTicks > 0 ? ticksAfterEnd : operationTicksMax);
      promise.then(answered, () => {}).finally(() => underWay.delete(reject));
      operation().then(resolve, reject);
      return promise;
    },
    [Symbol.dispose]() {
      stop.abort();
      clearInterval(ticks);
    },
  };
}

const wordsOf = (reason: unknown): string => (reason instanceof Error ? reason.message : 'no answer');
