// Everything that MongoDB and NATS store, as text, for tests that look for data that must have been removed.
import type { Bus } from '@integration-sync/runtime/bus';
import type { Store } from '@integration-sync/runtime/store';

export interface Stored {
  /** The name of the collection or stream. */
  place: string;
  text: string;
}

const streams = ['EVENTS', 'EVENT_BATCHES', 'ATTEMPTS'];

/** Every document of every collection, every message of every stream, and the streams' consumers. */
export async function allStored(store: Store, bus: Bus): Promise<Stored[]> {
  const all: Stored[] = [];
  for (const { name: place } of await store.database.listCollections().toArray()) {
    for await (const document of store.database.collection(place).find({}))
      all.push({ place, text: JSON.stringify(document, withBytes) });
  }
  for (const place of streams) {
    for await (const { subject, id, body } of bus.readStream(place, {
      subject: '>',
      from: { sequence: 1 },
    })) {
      const text = `${subject} ${id} ${Buffer.from(body).toString()}`;
      all.push({ place, text });
    }
  }
  for (const { name: place, consumers } of await bus.inspectStreams([]))
    for (const { name, facts } of consumers)
      all.push({ place, text: JSON.stringify({ name, filters: facts.filters }) });
  return all;
}

/** Writes binary values as text, so that a search of the JSON also finds text in them. */
const withBytes = (_key: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && 'buffer' in value && value.buffer instanceof Uint8Array
    ? Buffer.from(value.buffer).toString('latin1')
    : value;
