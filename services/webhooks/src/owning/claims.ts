// Who owns a partition, and how far it was delivered: what replicas leave each other in MongoDB.
//
//   stored                  by whom                         what
//   ──────────────────────  ──────────────────────────────  ─────────────────────────────────────────────────────
//   a document a partition  a replica that takes it over    owner, term, floor then; a claim is an update on the
//                           or gives it back                condition that nobody else has made one
//   a document a replica    its owner, five times a second  the floors of its partitions, with their terms
//
// The floor of a partition: what is in the log up to there is delivered, missed, given up, or in the offsets of endpoints
// that are behind (offsets.ts). It names the stream that it belongs to: made again, a stream counts from one.
import { isFirst, type Store } from '@integration-sync/runtime/store';

export interface Claim {
  partition: number;
  term: number;
  floor: number;
  /** Its owner before did not give it back, and may have attempts in flight. */
  isOfSilent?: boolean;
}

interface StoredClaim {
  /** The partition. */
  _id: number;
  /** Null: given back. */
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

export interface Claims {
  /** Takes those that are nobody's, and those of replicas that are dead. Resolves with those that are this replica's now. */
  take(partitions: readonly number[], isDead: (owner: string) => boolean): Promise<Claim[]>;
  /** Those of these claims that still stand. */
  standing(claims: readonly Claim[]): Promise<Claim[]>;
  /** Another replica may take them at once. */
  giveBack(claims: readonly Claim[]): Promise<void>;
  saveFloors(claims: Iterable<Claim>): Promise<void>;
  /** As far as it is stored anywhere; for whoever does not own the partition. */
  floorOf(partition: number): Promise<number>;
}

const claimsCollection = 'webhook_partitions';
const floorsCollection = 'webhook_replicas';
const forgottenAfterMs = 60 * 60 * 1000;

export interface ClaimsOptions {
  store: Store;
  self: string;
  /** Which making of the stream sequences are of, and where it ends: one that was put back from a backup is shorter. */
  stream: () => Promise<{ id: string; lastSequence: number }>;
}

export function openClaims({ store, self, stream }: ClaimsOptions): Claims {
  const claims = store.collection<StoredClaim>(claimsCollection);
  const replicas = store.collection<StoredFloors>(floorsCollection);

  const floorIn = (
    { _id, term, floor, stream: of }: StoredClaim,
    floors: Floors | undefined,
    { id, lastSequence }: { id: string; lastSequence: number },
  ): number => {
    if (of !== id) return 0;
    const [savedTerm, saved = 0] = floors?.[_id] ?? [];
    return Math.min(savedTerm === term ? Math.max(saved, floor) : floor, lastSequence);
  };

  const floorsOf = async (owners: readonly string[]): Promise<Map<string, Floors>> => {
    if (owners.length === 0) return new Map();
    const found = await replicas.find({ _id: { $in: [...new Set(owners)] } }).toArray();
    return new Map(found.map(({ _id, floors }) => [_id, floors]));
  };

  const takeOne = async (
    { partition, floor }: { partition: number; floor: number },
    found: StoredClaim | undefined,
    of: string,
  ): Promise<Claim | undefined> => {
    const term = (found?.term ?? 0) + 1;
    const claim = { owner: self, term, floor, stream: of };
    const isTaken =
      found === undefined
        ? await isFirst(claims.insertOne({ _id: partition, ...claim }))
        : (await claims.updateOne({ _id: partition, term: found.term, owner: found.owner }, { $set: claim }))
            .modifiedCount === 1;
    const isOfSilent = (found?.owner ?? null) !== null;
    return isTaken ? { partition, term, floor, isOfSilent } : undefined;
  };

  return {
    async take(partitions, isDead) {
      const found = await claims.find({ _id: { $in: [...partitions] } }).toArray();
      const byId = new Map(found.map((one) => [one._id, one]));
      const free = partitions.filter((partition) => {
        const owner = byId.get(partition)?.owner ?? null;
        return owner === null || owner === self || isDead(owner);
      });
      if (free.length === 0) return [];
      const floors = await floorsOf(free.flatMap((partition) => byId.get(partition)?.owner ?? []));
      // The log may have grown beyond all that this replica has read.
      const log = await stream();
      const taken = await Promise.all(
        free.map((partition) => {
          const one = byId.get(partition);
          const floor = one === undefined ? 0 : floorIn(one, floors.get(one.owner ?? ''), log);
          return takeOne({ partition, floor }, one, log.id);
        }),
      );
      // Those of replicas that ended long ago.
      await replicas.deleteMany({ at: { $lt: new Date(Date.now() - forgottenAfterMs) } });
      return taken.filter((claim) => claim !== undefined);
    },
    async standing(held) {
      const found = await claims.find({ owner: self }).toArray();
      const terms = new Map(found.map(({ _id, term }) => [_id, term]));
      return held.filter(({ partition, term }) => terms.get(partition) === term);
    },
    async giveBack(held) {
      await Promise.all(
        held.map(({ partition, term, floor }) =>
          claims.updateOne({ _id: partition, owner: self, term }, { $set: { owner: null, floor } }),
        ),
      );
    },
    async saveFloors(held) {
      const floors: Floors = Object.fromEntries(
        Array.from(held, ({ partition, term, floor }) => [partition, [term, floor]]),
      );
      await replicas.updateOne({ _id: self }, { $set: { floors, at: new Date() } }, { upsert: true });
    },
    async floorOf(partition) {
      const found = await claims.findOne({ _id: partition });
      if (found === null) return 0;
      const floors = await floorsOf(found.owner === null ? [] : [found.owner]);
      return floorIn(found, floors.get(found.owner ?? ''), await stream());
    },
  };
}
