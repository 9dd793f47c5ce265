// Proves that MongoDB lets this service read and write. A ping needs no permission, so it succeeds for a login that may do nothing.
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
  let refusal: unknown;

  const prove = async (): Promise<void> => {
    try {
      await Promise.all([documents.findOne(nowhere), documents.updateOne(nowhere, { $unset: { at: 1 } })]);
    } catch (error) {
      if (sortStoreError(error) !== 'refused') throw error;
      if (refusal === undefined)
        log.error({ err: error, collection }, 'MongoDB refuses reads or writes of this service');
      refusal = error;
      const detail = 'MongoDB refuses this service: its login lacks a permission.';
      throw new Failure('unavailable', detail, { retryAfterSeconds: 30, cause: error });
    }
    if (refusal !== undefined) log.info('MongoDB allows reads and writes of this service again');
    refusal = undefined;
  };
  const checks = openPeriodicCheck(prove, { what: 'permissions in MongoDB', everyMs: pollMs, log });

  return {
    /** Rejects with a `Failure` while MongoDB refuses, and with the driver's error while it is away. */
    prove,
    get isRefused(): boolean {
      return refusal !== undefined;
    },
    [Symbol.asyncDispose]: () => checks[Symbol.asyncDispose](),
  };
}
