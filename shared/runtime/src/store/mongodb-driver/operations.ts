// The operations that the driver carries out, each of which ends: with its own outcome, or with DatabaseAway.
//
// Observed: an operation that the driver (mongodb 7.9.0) began on a connection that was just being closed never ends, though the
// database answers: the driver waits for a destroyed socket to drain. So an operation is lost when its connections ended 1.5 s
// ago, or when it has taken longer than the driver gives any. One that begins right after some
// connection ended has 1.5 s as well: its own may have ended too, and the driver would never say so.
import type { Log } from '../../log.ts';

/** The database fell silent. Whether the operation took effect is not known. */
export class DatabaseAway extends Error {
  override readonly name = 'DatabaseAway';
}

export interface Operations {
  /** The operation's own outcome, or DatabaseAway as soon as it is lost or the database is away. */
  run<T>(operation: () => Promise<T>): Promise<T>;
  /** The database is away: every operation fails. */
  failAll(error: DatabaseAway): void;
  /** The driver ended its connections. `maySpread` says whether it may be ending others that it hands out next. */
  connectionsEnded(maySpread: boolean): void;
  /** One tick of the watchdog has passed: fails what is lost by now. */
  tick(): void;
}

export interface OperationsOptions {
  /** So many operations were lost, each of which keeps a connection that is of no more use. */
  onLost: (operations: number) => void;
  log: Log;
}

/** More than the time in which the driver gives up a connection that is silent. */
const operationTicksMax = 1_300;
const ticksAfterEnd = 15;
/** The driver may notice in the next moments that further connections have ended. */
const suspectTicksMax = 3;

export function openOperations({ onLost, log }: OperationsOptions): Operations {
  /** What fails each operation, and after how many ticks it is lost. */
  const underWay = new Map<(error: DatabaseAway) => void, number>();
  /** While there are some, what begins may have got a connection that is just being closed. */
  let suspectTicks = 0;

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

  return {
    run<T>(operation: () => Promise<T>) {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      underWay.set(reject, suspectTicks > 0 ? ticksAfterEnd : operationTicksMax);
      const forget = (): void => void underWay.delete(reject);
      promise.then(forget, forget);
      operation().then(resolve, reject);
      return promise;
    },
    failAll(error) {
      for (const fail of underWay.keys()) fail(error);
    },
    connectionsEnded(maySpread) {
      if (maySpread) suspectTicks = suspectTicksMax;
      for (const [fail, ticksLeft] of underWay) underWay.set(fail, Math.min(ticksLeft, ticksAfterEnd));
    },
    tick() {
      giveUpLost();
      suspectTicks = Math.max(0, suspectTicks - 1);
    },
  };
}
