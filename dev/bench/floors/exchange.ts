// The floors with IO: the documents and commands that catalog sends for a push of new suppliers, by the driver's own
// methods, and the same batch of events. Not included: marking pushes as announced, which catalog does for several
// pushes at once, and the event batch for webhooks.
import { randomBytes } from 'node:crypto';
import { Supplier } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Store } from '@integration-sync/runtime/store';
import type { Part } from './compute.ts';
import { eventsOf, integration, type Input } from './input.ts';

interface RecordDocument {
  _id: string;
  integration: string;
  externalId: string;
  fields: object;
  order: string;
  push: string;
  lastSyncedAt: Date;
  changedAt: Date;
}

interface Entry {
  _id: string;
  [field: string]: unknown;
}

interface Head {
  _id: string;
  total: number;
  stamp: number;
  open: Record<string, number>;
}

const watermarkId = `${integration}/suppliers`;
/** Catalog first reads a sample of this many records, to learn whether they exist. */
const sampled = 8;

export async function openDriverPart(store: Store): Promise<Part> {
  const records = store.collection<RecordDocument>('floor_suppliers');
  const journal = store.collection<Entry>('floor_journal');
  const heads = store.collection<Head>('floor_heads');
  await store.ensureIndexes('floor_suppliers', [
    { name: 'creation-order', key: { integration: 1, order: 1 } },
    { name: 'last-synced', key: { integration: 1, lastSyncedAt: 1 } },
    { name: 'last-changed', key: { integration: 1, changedAt: 1 } },
  ]);
  await store.ensureIndexes('floor_journal', [
    { name: 'history', key: { integration: 1, _id: -1 } },
    { name: 'left-behind', key: { due: 1 }, sparse: true },
    { name: 'failed-ids', key: { 'errors.externalId': 1 }, sparse: true },
  ]);
  await heads.updateOne({ _id: watermarkId }, { $set: { total: 0, stamp: 0, open: {} } }, { upsert: true });

  return (input) => {
    const { syncId } = input;
    const at = new Date();
    const documents = documentsOf(input, at);
    const entry = entryOf(input, at);
    const some = documents
      .filter((_, index) => index % Math.ceil(documents.length / sampled) === 0)
      .map(({ _id }) => _id);
    const outcomes = randomBytes(documents.length);
    return async () => {
      await Promise.all([
        heads.findOneAndUpdate(
          { _id: watermarkId },
          { $max: { stamp: at.getTime() }, $set: { [`open.${syncId}`]: at.getTime() } },
          { projection: { stamp: 1 } },
        ),
        journal.insertOne(entry),
        records
          .find({ _id: { $in: some } }, { projection: { fields: 1, push: 1, changed: 1, lastSyncedAt: 1 } })
          .toArray(),
      ]);
      await records.insertMany(documents, { ordered: false });
      await Promise.all([
        journal.updateOne(
          { _id: syncId, owner: 'floors', state: 'writing' },
          {
            $set: {
              created: documents.length,
              completedAt: at,
              outcomes,
              fields: fieldNames,
              state: 'written',
              due: at,
            },
            $unset: { evidence: '', reopened: '' },
          },
        ),
        heads.updateOne(
          { _id: watermarkId, [`open.${syncId}`]: { $exists: true } },
          { $unset: { [`open.${syncId}`]: '' }, $inc: { total: documents.length } },
        ),
      ]);
    };
  };
}

const fieldNames = Object.keys(Supplier.properties).filter((name) => name !== 'externalId');

const documentsOf = ({ records, syncId }: Input, at: Date): RecordDocument[] =>
  records.map(({ internalId, item: { externalId, ...fields }, place }) => ({
    _id: internalId,
    integration,
    externalId,
    fields,
    order: `${syncId}-${String(place).padStart(3, '0')}`,
    push: syncId,
    lastSyncedAt: at,
    changedAt: at,
  }));

const entryOf = ({ syncId, records }: Input, at: Date): Entry => ({
  _id: syncId,
  integration,
  entityType: 'supplier',
  state: 'writing',
  owner: 'floors',
  due: at,
  created: 0,
  updated: 0,
  unchanged: 0,
  failed: 0,
  startedAt: at,
  completedAt: null,
  drafting: false,
  drafted: 0,
  ids: Buffer.from(records.map(({ internalId }) => internalId.slice(-32)).join(''), 'hex'),
});

export const publishPart =
  (bus: Bus): Part =>
  (input) => {
    const messages = eventsOf(input).map(({ subject, id, body }) => ({
      subject,
      id,
      body: Buffer.from(JSON.stringify(body)),
    }));
    return () => bus.publishBatch(messages);
  };
