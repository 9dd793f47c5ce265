// What is set aside for an endpoint: kept in the stream HELD, oldest first, under the epoch that it was meant
// for. Entries of the present epoch wait for their turn; those of epochs that have ended are what was missed.
import { openBatcher } from '@integration-sync/runtime/batcher';
import type { Bus, StoredMessage } from '@integration-sync/runtime/bus';
import { heldId, heldSubject, readHeld, heldSubjects, type Delivery } from '../streams/messages.ts';
import { heldStream } from '../streams/streams.ts';

export interface HeldEntry {
  sequence: number;
  delivery: Delivery;
}

export interface Held {
  /** Resolves with its sequence. */
  put(delivery: Delivery): Promise<number>;
  putAll(deliveries: readonly Delivery[]): Promise<void>;
  first(endpointId: string, epoch: number): Promise<HeldEntry | undefined>;
  at(endpointId: string, epoch: number, sequence: number): Promise<HeldEntry | undefined>;
  read(endpointId: string, epoch: number, from: number, max: number): Promise<HeldEntry[]>;
  /** As the stream's leader knows it: a read may come from a copy that is a moment behind. */
  count(endpointId: string, epoch: number): Promise<number>;
  /** What an epoch's end left behind, however much that is. */
  readAll(endpointId: string, epoch: number): AsyncGenerator<HeldEntry>;
  remove(sequence: number): Promise<void>;
  /** All of this epoch up to there. */
  removeThrough(endpointId: string, epoch: number, sequence: number): Promise<void>;
  removeEndpoint(endpointId: string): Promise<void>;
}

type HeldBus = Pick<Bus, 'publishBatch' | 'readStream' | 'countMessages' | 'purge' | 'remove'>;

/** The disk is synced once for all that fail in one moment, as the endpoints of a host that went down do. */
const putsMax = 500;

export function openHeld(bus: HeldBus): Held {
  const put = openBatcher<Delivery, number>(async (all) => {
    const published = await bus.publishBatch(all.map(messageOf));
    return published.map(({ sequence }) => sequence);
  }, putsMax);

  async function* readFrom(endpointId: string, epoch: number, from: number, max?: number) {
    const reading = {
      subject: heldSubject(endpointId, epoch),
      from: { sequence: from },
      // What an epoch has left behind is counted for a caller.
      ...(max === undefined ? { exact: true } : { max }),
    };
    for await (const message of bus.readStream(heldStream, reading)) {
      const entry = entryOf(message);
      if (entry !== undefined) yield entry;
      // The service did not write it, so it only takes room.
      else await bus.remove(heldStream, message.sequence);
    }
  }

  const held: Held = {
    put,
    async putAll(deliveries) {
      await bus.publishBatch(deliveries.map(messageOf));
    },
    async first(endpointId, epoch) {
      const [entry] = await held.read(endpointId, epoch, 1, 1);
      return entry;
    },
    async at(endpointId, epoch, sequence) {
      const [entry] = await held.read(endpointId, epoch, sequence, 1);
      return entry?.sequence === sequence ? entry : undefined;
    },
    read: (endpointId, epoch, from, max) => Array.fromAsync(readFrom(endpointId, epoch, from, max)),
    count: (endpointId, epoch) => bus.countMessages(heldStream, heldSubject(endpointId, epoch)),
    readAll: (endpointId, epoch) => readFrom(endpointId, epoch, 1),
    remove: (sequence) => bus.remove(heldStream, sequence),
    async removeThrough(endpointId, epoch, sequence) {
      await bus.purge(heldStream, heldSubject(endpointId, epoch), sequence);
    },
    async removeEndpoint(endpointId) {
      await bus.purge(heldStream, heldSubjects(endpointId));
    },
  };
  return held;
}

function entryOf(message: StoredMessage): HeldEntry | undefined {
  const delivery = readHeld(message);
  return delivery === undefined ? undefined : { sequence: message.sequence, delivery };
}

const messageOf = (delivery: Delivery) => ({
  subject: heldSubject(delivery.endpointId, delivery.epoch),
  id: heldId(delivery),
  body: delivery.body,
  traceparent: delivery.traceparent,
});
