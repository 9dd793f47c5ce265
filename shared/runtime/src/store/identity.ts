// The id that MongoDB gave a collection. Replicas of a service tell it to the gateway: where two ids differ, so do the databases,
// and one of the replicas serves records that the others do not have.
import type { Db } from 'mongodb';
import type { Log } from '../log.ts';
import { openPeriodicCheck } from '../periodic-check.ts';

/** The id is asked for repeatedly: with an empty database, a service creates its collections only after the first question. */
const everyMs = 1_000;
const keptMs = 10_000;

/** `collection`: a collection that each replica of the service has. */
export function watchIdentity({ database }: { database: Pick<Db, 'command'> }, collection: string, log: Log) {
  let identity: string | undefined;
  let toldAt = -Infinity;
  const look = async (): Promise<void> => {
    if (identity !== undefined && performance.now() - toldAt < keptMs) return;
    const { cursor } = await database.command({ listCollections: 1, filter: { name: collection } });
    identity = JSON.stringify(cursor.firstBatch[0]?.info?.uuid);
    toldAt = performance.now();
  };
  const checks = openPeriodicCheck(look, { what: 'the identity of the database', everyMs, log });
  checks.now();
  return {
    /** Undefined until MongoDB has answered with the id, and for a login that may not list collections. */
    now: () => identity,
    [Symbol.asyncDispose]: () => checks[Symbol.asyncDispose](),
  };
}
