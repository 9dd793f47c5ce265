// The claims and floors of partitions in MongoDB. A new owner reads from them how far the former owner has delivered.
//
//   a document for each  written by                         content
//   ───────────────────  ─────────────────────────────────  ──────────────────────────────────────────────────────
//   partition            a replica that claims the          the owner, the term and a floor; a claim is an update
//                        partition or releases it           on the condition that the term is unchanged
//   replica              the replica, five times a second   the floors of its partitions, with their terms
//
// Each event up to the floor of a partition is delivered, missed, given up, or in the offset of an endpoint that is behind
// (offsets.ts). A claim names the creation time of the log, because a log that is created again counts from one. With each floor
// its writer stores the newest message that it knew, because a log that is restored from an older copy counts on from the copy's
// end.
import { isFirst, isFound, type Collection, type Store } from '@integration-sync/runtime/store';
import type { KnownRestores } from '../log/known-restores.ts';
import type { NewestMessage } from '../log/restores.ts';
import { createdAtOf, type LogStream } from '../log/stream.ts';

export interface Claim {
  partition: number;
  term: number;
  floor: number;
  /** The id of the log to which the floor belongs. */
  stream: string;
  /** When the partition was claimed from an owner that had not released it, and so may have attempts in flight. */
  silentAt?: number | undefined;
}

export type SavedFloor = Pick<Claim, 'partition' | 'term' | 'floor' | 'stream'>;

interface StoredClaim {
  /** The partition. */
  _id: number;
  /** The id of the owner; null once the partition is released. */
  owner: string | null;
  term: number;
  floor: number;
  /** The creation time of the log for which the partition was claimed. */
  stream: string;
  /** The newest message of the log that the claiming replica knew. Absent if release 1.1.0 made the claim. */
  newest?: NewestMessage;
}

/** By partition: its floor, and the newest message of the log that its owner had read, which release 1.1.0 does not store. */
type Floors = Record<string, [term: number, floor: number, newest?: NewestMessage]>;

interface StoredFloors {
  /** The replica. */
  _id: string;
  floors: Floors;
  at: Date;
}

const claimsCollection = 'webhook_partitions';
const floorsCollection = 'webhook_replicas';
const forgottenAfterMs = 60 * 60 * 1000;

type ClaimedStream = Pick<LogStream, 'refresh' | 'verify' | 'facts' | 'newest'> & {
  readonly restores: Pick<KnownRestores, 'validThrough'>;
};

export class Claims {
  readonly #claims: Collection<StoredClaim>;
  readonly #replicas: Collection<StoredFloors>;
  readonly #self: string;
  readonly #stream: ClaimedStream;
  /** By partition, the term of the last claim of this replica: a MongoDB that is restored from an older copy has earlier terms. */
  readonly #terms = new Map<number, number>();
  /** When this replica last stored floors; undefined if it has stored none since its start or a restore of MongoDB. */
  #savedAt: Date | undefined;
  #areLost = false;

  constructor(store: Store, self: string, stream: ClaimedStream) {
    this.#claims = store.collection(claimsCollection);
    this.#replicas = store.collection(floorsCollection);
    this.#self = self;
    this.#stream = stream;
  }

  /** Claims partitions that have no owner, a dead owner or this replica as owner. Resolves with the new claims. */
  async take(partitions: readonly number[], isDead: (owner: string) => boolean): Promise<Claim[]> {
    const found = await this.#claims.find({ _id: { $in: [...partitions] } }).toArray();
    const byId = new Map(found.map((one) => [one._id, one]));
    const isFree = (partition: number): boolean => {
      const owner = byId.get(partition)?.owner ?? null;
      return owner === null || owner === this.#self || isDead(owner);
    };
    const free = partitions.filter(isFree);
    if (free.length === 0) return [];
    const floors = await this.#floorsOf(free.flatMap((partition) => byId.get(partition)?.owner ?? []));
    // The end of the log is read after the floors, because the end that this replica knew before may be lower than a floor.
    await this.#stream.refresh();
    const saved = free.map((partition) => savedFloorOf(byId.get(partition), floors));
    await this.#stream.verify([...found.map(({ newest }) => newest), ...saved.map(([, , newest]) => newest)]);
    const { id } = this.#stream.facts;
    // `isFree` is checked again: a broadcast of a silent owner may have arrived meanwhile.
    const taken = await Promise.all(
      free.filter(isFree).map((partition) => {
        const one = byId.get(partition);
        const floor = one === undefined ? 0 : this.#floorIn(one, savedFloorOf(one, floors));
        return this.#takeOne({ partition, floor, stream: id }, one);
      }),
    );
    // Deletes the floors of replicas that ended long ago, except replicas whose partitions are not claimed by others yet.
    const owners = (await this.#claims.distinct('owner')).filter((owner) => owner !== null);
    await this.#replicas.deleteMany({
      _id: { $nin: owners },
      at: { $lt: new Date(Date.now() - forgottenAfterMs) },
    });
    return taken.filter((claim) => claim !== undefined);
  }

  /** By partition, the terms of the claims in MongoDB that name this replica. */
  async terms(): Promise<Map<number, number>> {
    const found = await this.#claims.find({ owner: this.#self }).toArray();
    return new Map(found.map(({ _id, term }) => [_id, term]));
  }

  /** Whether MongoDB has older floors than this replica has stored, as it was restored from an older copy. Then no floor is stored. */
  get areLost(): boolean {
    return this.#areLost;
  }

  /** Called once this replica has dropped its claims after a restore of MongoDB. */
  dropped(): void {
    this.#areLost = false;
  }

  async giveBack(held: readonly Claim[]): Promise<void> {
    const { facts, newest } = this.#stream;
    await Promise.all(
      held.map(({ partition, term, floor, stream }) => {
        // A floor in a former log is not stored, because it means nothing in this log: the floor of the claim stays.
        const moved = stream === facts.id ? { floor, newest } : {};
        return this.#claims.updateOne(
          { _id: partition, owner: this.#self, term },
          { $set: { owner: null, ...moved } },
        );
      }),
    );
  }

  async saveFloors(held: readonly SavedFloor[]): Promise<void> {
    if (this.#areLost) return;
    // `$set` keeps the floors of partitions that are being released. The stored term tells whether a floor is still valid.
    const { facts, newest } = this.#stream;
    const ofThisLog = held.filter(({ stream }) => stream === facts.id);
    const floors = Object.fromEntries(
      ofThisLog.map(({ partition, term, floor }) => [`floors.${partition}`, [term, floor, newest]]),
    );
    const at = new Date();
    const asStored = this.#savedAt === undefined ? {} : { at: { $gte: this.#savedAt } };
    // If another replica has deleted the document, the upsert inserts it. If MongoDB has an older document, the upsert fails.
    const saving = this.#replicas.updateOne(
      { _id: this.#self, ...asStored },
      { $set: floors, $max: { at } },
      { upsert: true },
    );
    if (this.#savedAt === undefined) await saving;
    else this.#areLost = !(await isFirst(saving));
    this.#savedAt = this.#areLost ? undefined : at;
  }

  async floorOf(partition: number): Promise<number> {
    const found = await this.#claims.findOne({ _id: partition });
    if (found === null) return 0;
    const floors = await this.#floorsOf(found.owner === null ? [] : [found.owner]);
    await this.#stream.refresh();
    const saved = savedFloorOf(found, floors);
    await this.#stream.verify([found.newest, saved[2]]);
    return this.#floorIn(found, saved);
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
    const term = Math.max(found?.term ?? 0, this.#terms.get(partition) ?? 0) + 1;
    const claim = {
      owner: this.#self,
      term,
      floor,
      stream: createdAtOf(stream),
      newest: this.#stream.newest,
    };
    const isTaken =
      found === undefined
        ? await isFirst(this.#claims.insertOne({ _id: partition, ...claim }))
        : await isFound(
            this.#claims.updateOne({ _id: partition, term: found.term, owner: found.owner }, { $set: claim }),
          );
    const silentAt = (found?.owner ?? null) === null ? undefined : performance.now();
    if (!isTaken) return undefined;
    this.#terms.set(partition, term);
    return { partition, term, floor, stream, silentAt };
  }

  #floorIn(claim: StoredClaim, [savedTerm, saved, newest]: Floors[string]): number {
    const { facts, restores } = this.#stream;
    if (claim.stream !== facts.createdAt) return 0;
    const claimed = Math.min(claim.floor, restores.validThrough(claim.newest));
    const moved = savedTerm === claim.term ? Math.min(saved, restores.validThrough(newest)) : 0;
    return Math.min(Math.max(moved, claimed), facts.lastSequence);
  }
}

const noFloor: Floors[string] = [0, 0];

const savedFloorOf = (claim: StoredClaim | undefined, floors: ReadonlyMap<string, Floors>): Floors[string] =>
  (claim === undefined ? undefined : floors.get(claim.owner ?? '')?.[claim._id]) ?? noFloor;
