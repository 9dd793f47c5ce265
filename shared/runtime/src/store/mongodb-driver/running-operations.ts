// Ends each operation of the driver, with its own outcome or with `DatabaseAway`.
//
// Observed: an operation that the driver (mongodb 7.9.0) begins on a closing connection never ends, because the driver waits for a
// destroyed socket to drain. So an operation counts as lost 1.5 s after connections ended, or once it outlasts the driver's socket
// time-out. An operation that begins right after a connection ended also has 1.5 s: its own connection may be closing too.
import type { Log } from '../../log.ts';

/** The error if the database does not answer. The operation may or may not have taken effect. */
export class DatabaseAway extends Error {
  override readonly name = 'DatabaseAway';
}

export interface OperationsOptions {
  /** Called with the number of lost operations, each of which occupies a dead connection of the pool. */
  onLost: (operations: number) => void;
  log: Log;
}

/** 140 s, until an operation counts as lost: two socket time-outs (store/index.ts), and the search for a server between them. */
const operationTicksMax = 1_400;
const ticksAfterEnd = 15;
/** For how many ticks after a lost connection the driver may still find other lost connections. */
const suspectTicksMax = 3;

export function openOperations({ onLost, log }: OperationsOptions) {
  /** For each running operation, the function that fails it, and the ticks until it counts as lost. */
  const underWay = new Map<(error: DatabaseAway) => void, number>();
  /** The ticks for which new operations are suspect: the driver may run them on a closing connection. */
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
    log.warn({ operations: lost }, 'operations of MongoDB failed, as their connections ended');
    onLost(lost);
  };

  return {
    /** Runs the operation; rejects with `DatabaseAway` as soon as the operation is lost or the database is away. */
    run<T>(operation: () => Promise<T>, { isBounded }: { isBounded: boolean }): Promise<T> {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      const ticksMax = isBounded ? operationTicksMax : Infinity;
      underWay.set(reject, suspectTicks > 0 ? ticksAfterEnd : ticksMax);
      const forget = (): void => void underWay.delete(reject);
      promise.then(forget, forget);
      operation().then(resolve, reject);
      return promise;
    },
    failAll(error: DatabaseAway): void {
      for (const fail of underWay.keys()) fail(error);
    },
    /** Notes that the driver has ended connections. `maySpread`: whether those of the next operations may be closing too. */
    connectionsEnded(maySpread: boolean): void {
      if (maySpread) suspectTicks = suspectTicksMax;
      for (const [fail, ticksLeft] of underWay) underWay.set(fail, Math.min(ticksLeft, ticksAfterEnd));
    },
    /** A tick of the watchdog: fails operations that count as lost by now. */
    tick(): void {
      giveUpLost();
      suspectTicks = Math.max(0, suspectTicks - 1);
    },
  };
}
