// The work of a push after its items are checked, the same for every rival: find the stored suppliers, write all with
// one bulk write of upserts by externalId, publish an event for each new or changed supplier, and answer. The drivers
// are used as their documentation shows.
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { jetstream, jetstreamManager, RetentionPolicy } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { MongoClient, type AnyBulkWriteOperation } from 'mongodb';
import { settings } from './settings.ts';

export interface Supplier {
  externalId: string;
  name: string;
  code?: string | null | undefined;
  country?: string | null | undefined;
  address?: string | null | undefined;
  contactPerson?: string | null | undefined;
  email?: string | null | undefined;
  phone?: string | null | undefined;
  certifications?: string[] | null | undefined;
  isEuOrigin?: boolean | null | undefined;
}

/** A checked item: either a supplier, or the faults of the item. */
export type Checked = { supplier: Supplier } | { externalId: string; error: string };

type Fields = Omit<Supplier, 'externalId'>;

interface SupplierDocument {
  integration: string;
  externalId: string;
  internalId: string;
  createdAt: Date;
  lastSyncedAt: Date;
  fields: Fields;
}

type Known = Pick<SupplierDocument, 'internalId' | 'fields'>;

interface AnsweredRecord {
  externalId: string;
  internalId: string;
  status: 'CREATED' | 'UPDATED' | 'ERROR';
}

export interface PushAnswer {
  success: boolean;
  created: number;
  updated: number;
  errors: { externalId: string; error: string }[];
  records: AnsweredRecord[];
}

interface Event {
  kind: string;
  data: object;
}

export interface Job {
  push(integration: string, items: readonly Checked[]): Promise<PushAnswer>;
  close(): Promise<void>;
}

export async function openJob(): Promise<Job> {
  const client = new MongoClient(settings.mongodb, { w: 'majority', journal: true });
  const suppliers = client.db(settings.database).collection<SupplierDocument>(settings.name);
  await suppliers.createIndex({ integration: 1, externalId: 1 }, { unique: true });
  await suppliers.createIndex({ integration: 1, createdAt: 1 });
  await suppliers.createIndex({ integration: 1, lastSyncedAt: 1 });
  const connection = await connect({ servers: settings.nats });
  const manager = await jetstreamManager(connection);
  await manager.streams.add({
    name: settings.name,
    subjects: [`${settings.name}.events.>`],
    retention: RetentionPolicy.Limits,
  });
  // The default of 5 s is too short for five hundred concurrent publishes on a busy machine.
  const stream = jetstream(connection, { timeout: 30_000 });

  const publish = async (integration: string, { kind, data }: Event): Promise<void> => {
    const body = { event: kind, timestamp: new Date().toISOString(), integrationId: integration, data };
    await stream.publish(`${settings.name}.events.${integration}.${kind}`, JSON.stringify(body), {
      msgID: randomUUID(),
    });
  };

  return {
    async push(integration, items) {
      const syncId = randomUUID();
      const startedAt = new Date();
      const accepted = items.flatMap((item) => ('supplier' in item ? [item.supplier] : []));
      const ids = accepted.map(({ externalId }) => externalId);
      const found = await suppliers.find({ integration, externalId: { $in: ids } }).toArray();
      const known = new Map(found.map((document): [string, Known] => [document.externalId, document]));
      const writes: AnyBulkWriteOperation<SupplierDocument>[] = [];
      const events: Event[] = [];
      const records: AnsweredRecord[] = [];
      let created = 0;
      for (const item of items) {
        if (!('supplier' in item)) {
          records.push({ externalId: item.externalId, internalId: '', status: 'ERROR' });
          continue;
        }
        const { externalId, ...fields } = item.supplier;
        const before = known.get(externalId);
        const internalId = before?.internalId ?? `sup_${randomUUID()}`;
        const changedFields = before === undefined ? [] : changesOf(before.fields, fields);
        writes.push(writeOf({ integration, externalId, internalId, fields }, startedAt));
        known.set(externalId, { internalId, fields: { ...before?.fields, ...fields } });
        records.push({ externalId, internalId, status: before === undefined ? 'CREATED' : 'UPDATED' });
        if (before === undefined) {
          created += 1;
          events.push({ kind: 'supplier.created', data: { externalId, internalId } });
        } else if (changedFields.length > 0) {
          events.push({ kind: 'supplier.updated', data: { externalId, internalId, changedFields } });
        }
      }
      if (writes.length > 0) await suppliers.bulkWrite(writes, { ordered: false });
      await Promise.all(events.map((event) => publish(integration, event)));
      const updated = accepted.length - created;
      const failed = items.length - accepted.length;
      const completedAt = new Date();
      const data = { syncId, entityType: 'supplier', created, updated, failed, startedAt, completedAt };
      await publish(integration, { kind: 'sync.completed', data });
      const errors = items.flatMap((item) => ('error' in item ? [item] : []));
      return { success: errors.length === 0, created, updated, errors, records };
    },
    async close() {
      await connection.drain();
      await client.close();
    },
  };
}

type Written = Pick<SupplierDocument, 'integration' | 'externalId' | 'internalId' | 'fields'>;

function writeOf(
  { integration, externalId, internalId, fields }: Written,
  at: Date,
): AnyBulkWriteOperation<SupplierDocument> {
  const set = Object.entries(fields).map(([name, value]) => [`fields.${name}`, value]);
  return {
    updateOne: {
      filter: { integration, externalId },
      update: {
        $set: { ...Object.fromEntries(set), lastSyncedAt: at },
        $setOnInsert: { internalId, createdAt: at },
      },
      upsert: true,
    },
  };
}

const changesOf = (before: Fields, fields: Fields): string[] =>
  Object.entries(fields)
    .filter(([name, value]) => !isDeepStrictEqual(Reflect.get(before, name), value))
    .map(([name]) => name);
