// Proves that MongoDB lets this service read and write. A ping succeeds for a login that may do nothing, and with a full disk too.
import { Failure } from '@integration-sync/contracts';
import type { Db } from 'mongodb';
import type { Log } from '../log.ts';
import { openPeriodicCheck } from '../periodic-check.ts';
import { sortStoreError } from './database-errors.ts';

export type StoreProof = ReturnType<typeof openStoreProof>;

const everyMs = 5_000;
/** No document has this id: the update changes nothing, but MongoDB checks that the login may write. */
const nowhere = { _id: 'no document has this id' };

/** `collection`: a collection that the service reads and writes all the time. */
export function openStoreProof(
  store: Pick<Db, 'collection'>,
  collection: string,
  log: Log,
  pollMs = everyMs,
) {
  const documents = store.collection<{ _id: string; at?: Date }>(collection);
  let failure: unknown;

  const prove = async (): Promise<void> => {
    try {
      await Promise.all([documents.findOne(nowhere), documents.updateOne(nowhere, { $unset: { at: 1 } })]);
    } catch (error) {
      const isRefused = sortStoreError(error) === 'refused';
      if (failure === undefined)
        log[isRefused ? 'error' : 'warn']({ err: error, collection }, 'reads or writes in MongoDB fail');
      failure = error;
      if (!isRefused) throw error;
      const detail = 'MongoDB refuses this service: its login lacks a permission.';
      throw new Failure('unavailable', detail, { retryAfterSeconds: 30, cause: error });
    }
    if (failure !== undefined) log.info('reads and writes in MongoDB succeed again');
    failure = undefined;
  };
  const checks = openPeriodicCheck(prove, { what: 'permissions in MongoDB', everyMs: pollMs, log });

  return {
    /** Rejects with a `Failure` while MongoDB refuses, and with the driver's error while it is away. */
    prove,
    /** Whether the last proof failed: MongoDB may answer pings and carry out no writes, as with a full disk. */
    get isFailing(): boolean {
      return failure !== undefined;
    },
    [Symbol.asyncDispose]: () => checks[Symbol.asyncDispose](),
  };
}
