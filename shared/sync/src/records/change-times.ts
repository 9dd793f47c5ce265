// `changedAt` is the time of the last visible change of a record. record-writes.ts sets `changedAt`, and listings with
// `changedSince` ask for it. The index of `changedAt` is built for the first such listing, because every push pays for an index.
// Records of an earlier release have no `changedAt` and count as changed at `lastSyncedAt`. The first listing of changes of an
// integration starts to set `changedAt` in its records. The build and the setting run in the background. Until both end, the
// listing finds records by both times (listing/listing-filters.ts).
import { setTimeout as wait } from 'node:timers/promises';
import type { Log } from '@integration-sync/runtime/log';
import { writeInChunks, type Collection, type Store } from '@integration-sync/runtime/store';
import { byTheirIds, filtersByIds } from './by-ids.ts';
import type { RecordDocument } from './record-document.ts';

export const changedIndex = { name: 'last-changed', key: { integration: 1, changedAt: 1 } } as const;

/** How many records get their `changedAt` at a time. */
const datedAtOnceMax = 500;
/** How long a listing waits for the index before it goes on without the index. */
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
      log.warn({ err: error, collection }, 'the index of changedAt could not be built, trying again later');
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
          // A push that has changed the record meanwhile has set `changedAt`.
          bulk
            .find({ ...byIds.one(integration, _id), ...withoutTime })
            .hint(byTheirIds.hint)
            .updateOne({ $set: { changedAt: lastSyncedAt } });
        });
        dated += found.length;
      }
      log.info({ integration, collection, dated }, 'added changedAt to records that lacked it');
    } catch (error) {
      log.warn(
        { err: error, integration, collection, dated },
        'changedAt could not be set in records of an earlier release, trying again later',
      );
    } finally {
      dating.delete(integration);
    }
  };

  return {
    /** Whether the index has all records of the integration. If not, starts to build it and to set `changedAt`. */
    async areComplete(integration: string): Promise<boolean> {
      if (!isIndexed) {
        indexing ??= index();
        await Promise.race([indexing, wait(indexMs, undefined, { ref: false })]);
        if (!isIndexed) return false;
      }
      const found = await undated(records, integration)
        .limit(1)
        .toArray()
        .catch(() => undefined);
      if (found === undefined) {
        // An operator may have dropped the index. If MongoDB is unreachable, the query of the listing throws.
        isIndexed = false;
        indexing ??= index();
        return false;
      }
      if (found.length === 0) return true;
      if (!dating.has(integration) && !stopping.signal.aborted) dating.set(integration, date(integration));
      return false;
    },
    async [Symbol.asyncDispose](): Promise<void> {
      stopping.abort();
      // The build of the index is not awaited: the database finishes it without this process.
      await Promise.all(dating.values());
    },
  };
}

/** The filter of records without `changedAt`; the index has them under the value null. */
export const withoutTime = { changedAt: { $exists: false } } as const;

const undated = (records: Collection<RecordDocument>, integration: string) =>
  records
    .find<Pick<RecordDocument, '_id' | 'lastSyncedAt'>>(
      { integration, ...withoutTime },
      { projection: { lastSyncedAt: 1 } },
    )
    .hint(changedIndex.name);

const atOnce = (): Promise<void> => Promise.resolve();
