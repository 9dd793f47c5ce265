// Bulk writes without any of the service's guarantees, as the measure for the service: the same items, engine,
// durability and indexes for listing.
import type { Collection, Store } from '@integration-sync/runtime/store';
import type { SupplierItem } from './items.ts';

export interface Bare {
  /** One unordered bulk write of upserts by the natural key. */
  upsert(items: readonly SupplierItem[]): Promise<unknown>;
  /** One unordered bulk write of upserts by `_id`. */
  upsertById(items: readonly SupplierItem[]): Promise<unknown>;
  /** One insert of documents that are known to be new. */
  insert(items: readonly SupplierItem[]): Promise<unknown>;
}

interface BareDocument extends SupplierItem {
  _id: string;
  integration: string;
  order: string;
  lastSyncedAt: Date;
  changedAt: Date;
}

const integration = 'bench';

function timesNow(): Pick<BareDocument, 'lastSyncedAt' | 'changedAt'> {
  const at = new Date();
  return { lastSyncedAt: at, changedAt: at };
}

export async function openBare(store: Store): Promise<Bare> {
  const open = async (name: string): Promise<Collection<BareDocument>> => {
    await store.ensureIndexes(name, [
      { name: 'creation-order', key: { integration: 1, order: 1 } },
      { name: 'last-synced', key: { integration: 1, lastSyncedAt: 1 } },
      { name: 'last-changed', key: { integration: 1, changedAt: 1 } },
    ]);
    return store.collection<BareDocument>(name);
  };
  const upserted = await open('bare_upserted');
  const upsertedById = await open('bare_upserted_by_id');
  const inserted = await open('bare_inserted');
  await store.ensureIndexes('bare_upserted', [
    { name: 'natural-key', key: { integration: 1, externalId: 1 }, unique: true },
  ]);
  return {
    upsert: (items) =>
      upserted.bulkWrite(
        items.map(({ externalId, ...fields }) => ({
          updateOne: {
            filter: { integration, externalId },
            update: { $set: { ...fields, order: externalId, ...timesNow() } },
            upsert: true,
          },
        })),
        { ordered: false },
      ),
    upsertById: (items) =>
      upsertedById.bulkWrite(
        items.map((item) => ({
          updateOne: {
            filter: { _id: `${integration}/${item.externalId}` },
            update: { $set: { ...item, integration, order: item.externalId, ...timesNow() } },
            upsert: true,
          },
        })),
        { ordered: false },
      ),
    insert: (items) =>
      inserted.insertMany(
        items.map((item) => ({
          _id: `${integration}/${item.externalId}`,
          integration,
          ...item,
          order: item.externalId,
          ...timesNow(),
        })),
        { ordered: false },
      ),
  };
}
