// The claims and floors of partitions in MongoDB. From them a new owner knows how far the former owner has delivered.
//
//   a document for each  is written by                      and holds
//   ───────────────────  ─────────────────────────────────  ──────────────────────────────────────────────────────
//   partition            a replica that claims the          the owner, the term and a floor; a claim is an update
//                        partition or gives it back         on the condition that the term is unchanged
//   replica              the replica, five times a second   the floors of its partitions, with their terms
//
// Each event up to the floor of a partition is delivered, missed, given up, or in the offset of an endpoint that is behind
// (offsets.ts). A claim names the creation time of the log, because a log that is created again counts from one.
import { isFirst, isFound, type Collection, type Store } from '@integration-sync/runtime/store';
import type { LogStream, LogStreamFacts } from '../log/reader.ts';

export interface Claim {
  partition: number;
  term: number;
  floor: number;
  /** The creation time of the log to which the floor belongs. */
  stream: string;
  /** The former owner did not give the partition back, and may have attempts in flight. */
  isOfSilent?: boolean;
}

export type SavedFloor = Pick<Claim, 'partition' | 'term' | 'floor'>;

interface StoredClaim {
  /** The partition. */
  _id: number;
  /** Null once the partition is given back. */
  owner: string | null;
  term: number;
  floor: number;
  stream: string;
}

type Floors = Record<string, [term: number, floor: number]>;

interface StoredFloors {
  /** The replica. */
  _id: string;
  floors: Floors;
  at: Date;
}

const claimsCollection = 'webhook_partitions';
const floorsCollection = 'webhook_replicas';
const forgottenAfterMs = 60 * 60 * 1000;

export class Claims {
  readonly #claims: Collection<StoredClaim>;
  readonly #replicas: Collection<StoredFloors>;
  readonly #self: string;
  /** Tells the end of the log: a log that was restored from an older copy may end before a stored floor. */
  readonly #stream: Pick<LogStream, 'look'>;

  constructor(store: Store, self: string, stream: Pick<LogStream, 'look'>) {
    this.#claims = store.collection(claimsCollection);
    this.#replicas = store.collection(floorsCollection);
    this.#self = self;
    this.#stream = stream;
  }

  /** Claims partitions that have no owner, a dead owner or this replica as owner. Resolves with the new claims. */
  async take(partitions: readonly number[], isDead: (owner: string) => boolean): Promise<Claim[]> {
    const found = await this.#claims.find({ _id: { $in: [...partitions] } }).toArray();
    const byId = new Map(found.map((one) => [one._id, one]));
    const free = partitions.filter((partition) => {
      const owner = byId.get(partition)?.owner ?? null;
      return owner === null || owner === this.#self || isDead(owner);
    });
    if (free.length === 0) return [];
    const floors = await this.#floorsOf(free.flatMap((partition) => byId.get(partition)?.owner ?? []));
    // The end of the log is read after the floors: the end that this replica knew before may lie below them.
    const log = await this.#stream.look();
    const taken = await Promise.all(
      free.map((partition) => {
        const one = byId.get(partition);
        const floor = one === undefined ? 0 : floorIn(one, floors.get(one.owner ?? ''), log);
        return this.#takeOne({ partition, floor, stream: log.id }, one);
      }),
    );
    // Deletes the floors of replicas that ended long ago, except those from which other replicas have yet to take partitions.
    const owners = (await this.#claims.distinct('owner')).filter((owner) => owner !== null);
    await this.#replicas.deleteMany({
      _id: { $nin: owners },
      at: { $lt: new Date(Date.now() - forgottenAfterMs) },
    });
    return taken.filter((claim) => claim !== undefined);
  }

  /** Those of the claims that no other replica has replaced. */
  async standing<Held extends Claim>(held: readonly Held[]): Promise<Held[]> {
    const found = await this.#claims.find({ owner: this.#self }).toArray();
    const terms = new Map(found.map(({ _id, term }) => [_id, term]));
    return held.filter(({ partition, term }) => terms.get(partition) === term);
  }

  /** Frees the partitions for other replicas. */
  async giveBack(held: readonly Claim[]): Promise<void> {
    await Promise.all(
      held.map(({ partition, term, floor }) =>
        this.#claims.updateOne({ _id: partition, owner: this.#self, term }, { $set: { owner: null, floor } }),
      ),
    );
  }

  async saveFloors(held: readonly SavedFloor[]): Promise<void> {
    // `$set` keeps the floors of other partitions, such as partitions that are being given back. The stored term tells
    // whether a floor is still valid.
    const floors = Object.fromEntries(
      held.map(({ partition, term, floor }) => [`floors.${partition}`, [term, floor]]),
    );
    await this.#replicas.updateOne(
      { _id: this.#self },
      { $set: { ...floors, at: new Date() } },
      { upsert: true },
    );
  }

  /** The last stored floor, for a replica that does not own the partition. */
  async floorOf(partition: number): Promise<number> {
    const found = await this.#claims.findOne({ _id: partition });
    if (found === null) return 0;
    const floors = await this.#floorsOf(found.owner === null ? [] : [found.owner]);
    return floorIn(found, floors.get(found.owner ?? ''), await this.#stream.look());
  }

  async #floorsOf(owners: readonly string[]): Promise<Map<string, Floors>> {
    if (owners.length === 0) return new Map();
    const found = await this.#replicas.find({ _id: { $in: [...new Set(owners)] } }).toArray();
    return new Map(found.map(({ _id, floors }) => [_id, floors]));
  }

  async #takeOne(
    { partition, floor, stream }: Pick<Claim, 'partition' | 'floor' | 'stream'>,
    found: StoredClaim | undefined,
  ): Promise<Claim | undefined> {
    const term = (found?.term ?? 0) + 1;
    const claim = { owner: this.#self, term, floor, stream };
    const isTaken =
      found === undefined
        ? await isFirst(this.#claims.insertOne({ _id: partition, ...claim }))
        : await isFound(
            this.#claims.updateOne({ _id: partition, term: found.term, owner: found.owner }, { $set: claim }),
          );
    const isOfSilent = (found?.owner ?? null) !== null;
    return isTaken ? { partition, term, floor, stream, isOfSilent } : undefined;
  }
}

function floorIn(
  { _id, term, floor, stream }: StoredClaim,
  floors: Floors | undefined,
  { id, lastSequence }: LogStreamFacts,
): number {
  if (stream !== id) return 0;
  const [savedTerm, saved = 0] = floors?.[_id] ?? [];
  return Math.min(savedTerm === term ? Math.max(saved, floor) : floor, lastSequence);
}
