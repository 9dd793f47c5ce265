// Offsets: how far each endpoint is that is behind. An endpoint that keeps up has none: it is where its partition is. Those of
// one integration are one document, whatever their number, and the owner of its partition writes it as a whole.
//
// An offset is exactly what is undelivered: all from a point of the log on, and those open events before it that are in
// flight or wait for another attempt.
import { isFirst, type Store } from '@integration-sync/runtime/store';

/** An event in the log: of the batch with this sequence the one with this index. */
export interface LogPoint {
  sequence: number;
  index: number;
}

export interface OpenEvent extends LogPoint {
  /** How many of its attempts it has used up. */
  attempts: number;
  /** Epoch milliseconds. */
  dueAtMs: number;
  /** How long the receiver has asked to wait, where it has. */
  retryAfterMs?: number;
  /** The replica at which it is in flight, where another has become the owner meanwhile. */
  heldBy?: string;
}

/** Everything from the point on, and the open events, is undelivered. */
export interface Offset extends LogPoint {
  open: readonly OpenEvent[];
}

export interface StoredOffset extends Offset {
  /** Of the endpoint; its offset of an earlier one means nothing. */
  epoch: number;
}

interface StoredOffsets {
  /** The integration. */
  _id: string;
  partition: number;
  term: number;
  stream: string;
  offsets: Record<string, StoredOffset>;
  isBehind: boolean;
}

export interface Offsets {
  /** Of the integrations of a partition that have any. */
  ofPartitions(partitions: readonly number[]): Promise<Map<string, ReadonlyMap<string, StoredOffset>>>;
  of(integration: string): Promise<ReadonlyMap<string, StoredOffset>>;
  /** An open event of it was delivered after all, by the replica before. */
  delivered(integration: string, endpointId: string, point: LogPoint): Promise<void>;
  /** Nothing happens where another replica owns the partition by now. */
  save(
    integration: string,
    by: { partition: number; term: number },
    offsets: ReadonlyMap<string, StoredOffset>,
  ): Promise<void>;
}

export const offsetsCollection = 'webhook_offsets';

export async function openOffsets(
  store: Store,
  stream: () => { id: string; lastSequence: number },
): Promise<Offsets> {
  await store.ensureIndexes(offsetsCollection, [{ name: 'behind', key: { isBehind: 1, partition: 1 } }]);
  const collection = store.collection<StoredOffsets>(offsetsCollection);

  /** Without those of another making of the log, and those beyond its end: it was put back to an older copy. */
  const read = (found: StoredOffsets): ReadonlyMap<string, StoredOffset> => {
    const { id, lastSequence } = stream();
    const known = found.stream === id ? Object.entries(found.offsets) : [];
    return new Map(
      known.filter(([, { sequence, index }]) => sequence <= lastSequence + (index === 0 ? 1 : 0)),
    );
  };

  return {
    async ofPartitions(partitions) {
      const found = await collection.find({ isBehind: true, partition: { $in: [...partitions] } }).toArray();
      return new Map(found.map((one) => [one._id, read(one)]));
    },
    async of(integration) {
      const found = await collection.findOne({ _id: integration });
      return found === null ? new Map() : read(found);
    },
    async delivered(integration, endpointId, { sequence, index }) {
      const open = { [`offsets.${endpointId}.open`]: { sequence, index } };
      await collection.updateOne({ _id: integration }, { $pull: open });
    },
    async save(integration, { partition, term }, offsets) {
      const saved = {
        partition,
        term,
        stream: stream().id,
        offsets: Object.fromEntries(offsets),
        isBehind: offsets.size > 0,
      };
      const replaced = await collection.updateOne(
        { _id: integration, term: { $lte: term } },
        { $set: saved },
      );
      // Where it has none there is nothing to keep: an integration that is being removed comes not back by that.
      if (replaced.matchedCount === 0 && offsets.size > 0)
        await isFirst(collection.insertOne({ _id: integration, ...saved }));
    },
  };
}
