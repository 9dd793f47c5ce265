// The stored offsets of endpoints that are behind. For an endpoint that keeps up, the floor of its partition suffices. The
// offsets of an integration are one document, which the owner of its partition writes as a whole.
//
// The offset of an endpoint names its undelivered events: all from a point of the log on, and the open events before that point.
import { isFirst, isFound, type Store } from '@integration-sync/runtime/store';
import type { KnownRestores } from './known-restores.ts';
import type { NewestMessage } from './restores.ts';
import { createdAtOf, type LogStream } from './stream.ts';

/** The point of an event in the log: the sequence of its batch, and its index in the batch. */
export interface LogPoint {
  sequence: number;
  index: number;
}

export const isSame = (one: LogPoint, other: LogPoint): boolean =>
  one.sequence === other.sequence && one.index === other.index;

export const isBefore = (one: LogPoint, other: LogPoint): boolean =>
  one.sequence < other.sequence || (one.sequence === other.sequence && one.index < other.index);

export const earliest = <Point extends LogPoint>(points: readonly Point[]): Point | undefined =>
  points.toSorted((one, other) => (isBefore(one, other) ? -1 : 1))[0];

export interface OpenEvent extends LogPoint {
  attempts: number;
  dueAtMs: number;
  retryAfterMs?: number;
}

export interface Offset extends LogPoint {
  open: readonly OpenEvent[];
}

export interface StoredOffset extends Offset {
  /** The endpoint's epoch; an offset of an earlier epoch is ignored. */
  epoch: number;
}

export interface StoredOffsets {
  /** The integration. */
  _id: string;
  partition: number;
  term: number;
  stream: string;
  offsets: Record<string, StoredOffset>;
  isBehind: boolean;
  /** The newest message of the log that the owner knew. Absent if release 1.1.0 stored the offsets. */
  newest?: NewestMessage;
  /** When the owner began to store the offsets, by the monotonic clock of its process. A claim removes this time. */
  savedAt?: number;
}

type Claimed = Pick<StoredOffsets, 'partition' | 'term'>;

/** Offsets by integration, then by endpoint. */
export type OffsetsByIntegration = ReadonlyMap<string, ReadonlyMap<string, StoredOffset>>;

export const offsetsCollection = 'webhook_offsets';

type OffsetsStream = Pick<LogStream, 'facts' | 'newest' | 'verify'> & {
  readonly restores: Pick<KnownRestores, 'validThrough'>;
};

export type Offsets = Awaited<ReturnType<typeof openOffsets>>;

export async function openOffsets(store: Store, stream: OffsetsStream) {
  await store.ensureIndexes(offsetsCollection, [{ name: 'behind', key: { isBehind: 1, partition: 1 } }]);
  const collection = store.collection<StoredOffsets>(offsetsCollection);

  /** Leaves out offsets of a former log. If the log was restored, an offset beyond the end of the copy moves to that end. */
  const read = (found: StoredOffsets): ReadonlyMap<string, StoredOffset> => {
    const { createdAt, lastSequence } = stream.facts;
    const through = Math.min(lastSequence, stream.restores.validThrough(found.newest));
    const known = found.stream === createdAt ? Object.entries(found.offsets) : [];
    return new Map(known.map(([id, offset]) => [id, within(offset, through)]));
  };

  /**
   * The floor of an owner may pass events of an endpoint that was behind at the claim, as MongoDB has the endpoint's offset. A
   * former owner that froze while it released the partition would store offsets without an endpoint that it believes caught up.
   */
  const readClaimed = async (claims: readonly Claimed[]): Promise<StoredOffsets[]> => {
    const refuseFormer = ([term, some]: [number, readonly Claimed[]]) =>
      collection.updateMany(
        { ...behindIn(some.map(partitionOf)), term: { $lt: term } },
        { $set: { term }, $unset: { savedAt: 1 } },
      );
    await Promise.all(Array.from(Map.groupBy(claims, termOf), refuseFormer));
    const found = await collection.find(behindIn(claims.map(partitionOf))).toArray();
    const terms = new Map(claims.map(({ partition, term }) => [partition, term]));
    // Repeated if a former owner stored offsets meanwhile. One of the databases also skips a document that is being changed.
    const isRefused = ({ partition, term }: Claimed): boolean => term >= (terms.get(partition) ?? 0);
    return found.every(isRefused) ? found : readClaimed(claims);
  };

  return {
    /** The offsets of partitions that this replica has claimed. From now on no former owner replaces them. */
    async ofPartitions(claims: readonly Claimed[]): Promise<OffsetsByIntegration> {
      const found = await readClaimed(claims);
      // To find a restore, the newest message stored for a partition suffices: owners note a restore before they store offsets.
      const byPartition = Map.groupBy(found, ({ partition }) => partition);
      await stream.verify(Array.from(byPartition.values(), newestOf));
      return new Map(found.map((one) => [one._id, read(one)]));
    },
    termsIn: (partitions: readonly number[]) =>
      collection
        .find(behindIn(partitions))
        .project<Pick<StoredOffsets, '_id' | 'partition' | 'term'>>({ partition: 1, term: 1 })
        .toArray(),
    async of(integration: string): Promise<ReadonlyMap<string, StoredOffset>> {
      const found = await collection.findOne({ _id: integration });
      return found === null ? new Map() : read(found);
    },
    /** Stores the offsets of an integration, unless an owner with a later term has stored offsets of it. */
    async save(
      integration: string,
      { partition, term, stream: log }: Pick<StoredOffsets, 'partition' | 'term' | 'stream'>,
      offsets: ReadonlyMap<string, StoredOffset>,
    ): Promise<void> {
      // The claim is for a former log: the owner will soon drop the partition.
      if (log !== stream.facts.id) return;
      const savedAt = performance.timeOrigin + performance.now();
      const saved = {
        savedAt,
        partition,
        term,
        stream: createdAtOf(log),
        newest: stream.newest,
        offsets: Object.fromEntries(inOneDocument(offsets)),
        isBehind: offsets.size > 0,
      };
      // An earlier write of the same owner, which the owner gave up while MongoDB was away, may arrive after a later write.
      const earlier = [{ term: { $lt: term } }, { term, savedAt: { $not: { $gt: savedAt } } }];
      const replace = () =>
        isFound(collection.updateOne({ _id: integration, $or: earlier }, { $set: saved }));
      // Without offsets no document is inserted: a document of an integration that is being removed must not be stored again.
      if ((await replace()) || offsets.size === 0) return;
      // A former owner may insert its offsets first.
      if (!(await isFirst(collection.insertOne({ _id: integration, ...saved })))) await replace();
    },
  };
}

const partitionOf = ({ partition }: Claimed): number => partition;
const termOf = ({ term }: Claimed): number => term;

const behindIn = (partitions: readonly number[]) => ({ isBehind: true, partition: { $in: [...partitions] } });

/** How many open events the offsets of an integration have at most: with 100,000 endpoints they take 15 of the 16 MiB of a document. */
const openMax = 60_000;

/** The offsets, of which those beyond `openMax` begin at their oldest open event: a next owner sends the events from there again. */
export function* inOneDocument(
  offsets: ReadonlyMap<string, StoredOffset>,
): Generator<[id: string, offset: StoredOffset]> {
  let left = openMax;
  for (const [id, offset] of offsets) {
    left -= offset.open.length;
    yield [id, left >= 0 ? offset : fromOldest(offset)];
  }
}

function fromOldest({ epoch, open, ...next }: StoredOffset): StoredOffset {
  const { sequence, index } = earliest<LogPoint>([...open, next]) ?? next;
  return { sequence, index, epoch, open: [] };
}

function newestOf(stored: readonly StoredOffsets[]): NewestMessage | undefined {
  return stored.reduce<NewestMessage | undefined>(
    (found, { newest }) => ((newest?.sequence ?? 0) > (found?.sequence ?? 0) ? newest : found),
    undefined,
  );
}

function within(offset: StoredOffset, through: number): StoredOffset {
  if (offset.sequence <= through) return offset;
  const open = offset.open.filter(({ sequence }) => sequence <= through);
  return { ...offset, sequence: through + 1, index: 0, open };
}
