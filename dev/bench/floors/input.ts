// The input for the floors of one push: the bytes that a caller sends, and the items and records of these bytes.
import { randomBytes, randomUUID } from 'node:crypto';
import { eventSubject, type Supplier } from '@integration-sync/contracts';
import { makeItems, pushBody } from '../items.ts';

export interface Input {
  body: Buffer;
  items: readonly Supplier[];
  syncId: string;
  records: readonly FloorRecord[];
}

export interface FloorRecord {
  internalId: string;
  item: Supplier;
  place: number;
}

export const integration = 'floors';

/** Ids have the same length as those of the service; making them is not measured. */
export function makeInput(): Input {
  const items = makeItems(randomBytes(6).toString('hex'));
  const records = items
    .map((item, place) => ({ internalId: `sup_${randomUUID().replaceAll('-', '')}`, item, place }))
    .toSorted((one, other) => (one.internalId < other.internalId ? -1 : 1));
  return { body: pushBody(items), items, syncId: `sync_${randomBytes(16).toString('hex')}`, records };
}

export interface FloorEvent {
  subject: string;
  id: string;
  body: object;
}

/** An event for each new supplier, and `sync.completed`. */
export function eventsOf({ syncId, records }: Input): FloorEvent[] {
  const timestamp = new Date().toISOString();
  const created = records.map(({ internalId, item, place }) => ({
    subject: eventSubject(integration, 'supplier.created'),
    id: `${syncId}-created-${place}`,
    body: {
      event: 'supplier.created',
      timestamp,
      integrationId: integration,
      data: { externalId: item.externalId, internalId },
    },
  }));
  const completed = {
    subject: eventSubject(integration, 'sync.completed'),
    id: `${syncId}-completed`,
    body: {
      event: 'sync.completed',
      timestamp,
      integrationId: integration,
      data: {
        syncId,
        entityType: 'supplier',
        created: records.length,
        updated: 0,
        failed: 0,
        startedAt: timestamp,
        completedAt: timestamp,
      },
    },
  };
  return [...created, completed];
}
