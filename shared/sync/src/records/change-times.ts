// `changedAt` is the time of the last visible change of a record. record-writes.ts sets it, and `changedSince` asks for records
// after a time (listing/narrowing.ts). Its index is made for the first such listing of a collection: every
// push pays for an index, and an installation that never asks for changes has none. A record that an earlier release wrote has
// no such time, and counts as changed when it was last synchronised; the first listing of changes of an integration that meets
// such records dates them. The service indexes and dates in the background; until then the listing finds records by both times
// (listing/narrowing.ts).
import { setTimeout as wait } from 'node:timers/promises';
import type { Log } from '@integration-sync/runtime/log';
import { writeInChunks, type Collection, type Store } from '@integration-sync/runtime/store';
import { byTheirIds, filtersByIds } from './by-ids.ts';
import type { RecordDocument } from './record-document.ts';

export const changedIndex = { name: 'last-changed', key: { integration: 1, changedAt: 1 } } as const;

/** So many records are read and written at a time. */
const datedAtOnceMax = 500;
/** A listing waits so long to learn that the index is there, and then goes on without it. */
const indexMs = 250;

export function openChangeTimes(store: Store, collection: string, log: Log) {
  const records = store.collection<RecordDocument>(collection);
  const byIds = filtersByIds(store);
  const stopping = new AbortController();
  const dating = new Map<string, Promise<void>>();
  let isIndexed = false;
  let indexing: Promise<void> | undefined;

  const index = async (): Promise<void> => {
    try {
      await store.ensureIndexes(collection, [changedIndex]);
      isIndexed = true;
    } catch (error) {
      if (stopping.signal.aborted) return;
      log.warn({ err: error, collection }, 'the index of changes could not be made, trying again later');
    } finally {
      indexing = undefined;
    }
  };

  const date = async (integration: string): Promise<void> => {
    let dated = 0;
    try {
      while (!stopping.signal.aborted) {
        const found = await undated(records, integration).limit(datedAtOnceMax).toArray();
        if (found.length === 0) break;
        await writeInChunks(records, found, atOnce, (bulk, { _id, lastSyncedAt }) => {
          // A push may have changed the record since it was read, and has dated it.
          bulk
            .find({ ...byIds.one(integration, _id), ...withoutTime })
            .hint(byTheirIds.hint)
            .updateOne({ $set: { changedAt: lastSyncedAt } });
        });
        dated += found.length;
      }
      log.info({ integration, collection, dated }, 'dated records of an earlier release');
    } catch (error) {
      log.warn(
        { err: error, integration, collection, dated },
        'records could not be dated, trying again later',
      );
    } finally {
      dating.delete(integration);
    }
  };

  return {
    /** Whether the index finds each change of the integration. Where it does not, indexing and dating begin. */
    async areComplete(integration: string): Promise<boolean> {
      if (!isIndexed) {
        indexing ??= index();
        await Promise.race([indexing, wait(indexMs, undefined, { ref: false })]);
        if (!isIndexed) return false;
      }
      const found = await undated(records, integration).limit(1).toArray();
      if (found.length === 0) return true;
      if (!dating.has(integration) && !stopping.signal.aborted) dating.set(integration, date(integration));
      return false;
    },
    async [Symbol.asyncDispose](): Promise<void> {
      stopping.abort();
      // The database goes on with an index that it makes.
      await Promise.all(dating.values());
    },
  };
}

/** The index has these records under the value null. */
export const withoutTime = { changedAt: { $exists: false } } as const;

const undated = (records: Collection<RecordDocument>, integration: string) =>
  records
    .find<Pick<RecordDocument, '_id' | 'lastSyncedAt'>>(
      { integration, ...withoutTime },
      { projection: { lastSyncedAt: 1 } },
    )
    .hint(changedIndex.name);

const atOnce = (): Promise<void> => Promise.resolve();
