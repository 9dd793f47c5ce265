// Bulk writes without any of the service's guarantees, as the measure for the service: the same items, engine,
// durability and indexes for listing.
import { openLog } from '@integration-sync/runtime/log';
import { openStore, type Collection } from '@integration-sync/runtime/store';
import type { Stack } from '../stack/index.ts';
import type { SupplierItem } from './items.ts';

export interface Bare extends AsyncDisposable {
  /** One unordered bulk write of upserts by the natural key. */
  upsert(items: readonly SupplierItem[]): Promise<unknown>;
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

export async function openBare({ mongodb }: Stack): Promise<Bare> {
  const log = openLog({ service: 'bench', level: 'warn' });
  const store = await openStore({ url: mongodb, database: 'bench', log });
  const open = async (name: string): Promise<Collection<BareDocument>> => {
    await store.ensureIndexes(name, [
      { name: 'creation-order', key: { integration: 1, order: 1 } },
      { name: 'last-synced', key: { integration: 1, lastSyncedAt: 1 } },
      { name: 'last-changed', key: { integration: 1, changedAt: 1 } },
    ]);
    return store.collection<BareDocument>(name);
  };
  const upserted = await open('bare_upserted');
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
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}
