// Reads and writes the records of one kind in MongoDB. In each query, field names come from the code, and a caller's values are
// only operands of plain operators. An internal id is a hash with the integration (ids.ts), so a read by ids
// finds no record of another integration.
import { allOfThem, readInChunks, type Store } from '@integration-sync/runtime/store';
import type { Stored } from './sort-records.ts';
import { byTheirIds, filtersByIds } from './by-ids.ts';
import type { RecordDocument } from './record-document.ts';
import { openRecordWrites } from './record-writes.ts';
import type { Trace } from './push-outcome.ts';

export function openRecords(store: Store, collection: string) {
  const records = store.collection<RecordDocument>(collection);
  const byIds = filtersByIds(store);
  const { these } = byIds;
  return {
    ...openRecordWrites(records, byIds),
    async read(integration: string, internalIds: readonly string[]): Promise<Map<string, Stored>> {
      if (internalIds.length === 0) return new Map();
      const found = await readInChunks(
        records.find(these(integration, internalIds), {
          projection: { fields: 1, push: 1, changed: 1, lastSyncedAt: 1 },
          raw: true,
          // Hundreds of whole records may be larger than a single batch, which has 16 MB at most.
          batchSize: internalIds.length + 1,
        }),
        ({ _id, fields, push, changed, lastSyncedAt }): [string, Stored] => [
          _id,
          { fields, push, lastSyncedAt, changed },
        ],
      );
      return new Map(found);
    },

    async trace(integration: string, internalIds: readonly string[]): Promise<Map<string, Trace>> {
      if (internalIds.length === 0) return new Map();
      const found = await records
        .find<Trace & { _id: string }>(these(integration, internalIds), {
          projection: { externalId: 1, order: 1, push: 1, changed: 1 },
          ...allOfThem(internalIds.length),
        })
        .toArray();
      return new Map(found.map((trace) => [trace._id, trace]));
    },

    /** Raises `lastSyncedAt` and `changedAt` of the records that the push wrote last. */
    async stamp(integration: string, internalIds: readonly string[], syncId: string, at: Date) {
      await records.updateMany(
        { ...these(integration, internalIds), push: syncId },
        { $max: { lastSyncedAt: at, changedAt: at } },
        byTheirIds,
      );
    },
  };
}
