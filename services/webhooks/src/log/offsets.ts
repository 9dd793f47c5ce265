// Offsets: how far each endpoint is that is behind. An endpoint that keeps up has none: it is where its partition is. Those of
// one integration are one document, whatever their number, and the owner of its partition writes it as a whole.
//
// An offset is exactly what is undelivered: all from a point of the log on, and those open events before it that are in
// flight or wait for another attempt.
import { isFirst, type Collection, type Store } from '@integration-sync/runtime/store';
import type { LogStream } from './reader.ts';

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

/** Of each integration those of its endpoints. */
export type OffsetsByIntegration = ReadonlyMap<string, ReadonlyMap<string, StoredOffset>>;

export const offsetsCollection = 'webhook_offsets';

export class Offsets {
  readonly #collection: Collection<StoredOffsets>;
  readonly #stream: Pick<LogStream, 'facts'>;

  private constructor(store: Store, stream: Pick<LogStream, 'facts'>) {
    this.#collection = store.collection(offsetsCollection);
    this.#stream = stream;
  }

  static async open(store: Store, stream: Pick<LogStream, 'facts'>): Promise<Offsets> {
    await store.ensureIndexes(offsetsCollection, [{ name: 'behind', key: { isBehind: 1, partition: 1 } }]);
    return new Offsets(store, stream);
  }

  /** Of the integrations of these partitions that have any. */
  async ofPartitions(partitions: readonly number[]): Promise<OffsetsByIntegration> {
    const wanted = { isBehind: true, partition: { $in: [...partitions] } };
    const found = await this.#collection.find(wanted).toArray();
    return new Map(found.map((one) => [one._id, this.#read(one)]));
  }

  async of(integration: string): Promise<ReadonlyMap<string, StoredOffset>> {
    const found = await this.#collection.findOne({ _id: integration });
    return found === null ? new Map() : this.#read(found);
  }

  /** The replica before has finished this open event. */
  async removeOpen(integration: string, endpointId: string, { sequence, index }: LogPoint): Promise<void> {
    const open = { [`offsets.${endpointId}.open`]: { sequence, index } };
    await this.#collection.updateOne({ _id: integration }, { $pull: open });
  }

  /** Nothing happens where another replica owns the partition by now. */
  async save(
    integration: string,
    { partition, term }: { partition: number; term: number },
    offsets: ReadonlyMap<string, StoredOffset>,
  ): Promise<void> {
    const saved = {
      partition,
      term,
      stream: this.#stream.facts.id,
      offsets: Object.fromEntries(offsets),
      isBehind: offsets.size > 0,
    };
    const replaced = await this.#collection.updateOne(
      { _id: integration, term: { $lte: term } },
      { $set: saved },
    );
    // Where it has none there is nothing to keep: an integration that is being removed comes not back by that.
    if (replaced.matchedCount === 0 && offsets.size > 0)
      await isFirst(this.#collection.insertOne({ _id: integration, ...saved }));
  }

  /** Without those of another making of the log, and those beyond its end: it was put back to an older copy. */
  #read(found: StoredOffsets): ReadonlyMap<string, StoredOffset> {
    const { id, lastSequence } = this.#stream.facts;
    const known = found.stream === id ? Object.entries(found.offsets) : [];
    return new Map(
      known.filter(([, { sequence, index }]) => sequence <= lastSequence + (index === 0 ? 1 : 0)),
    );
  }
}
