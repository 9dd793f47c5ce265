// The partitions that this replica owns: this replica alone reads these partitions and delivers their events.
//
//   a partition is                          what this replica does
//   ──────────────────────────────────────  ───────────────────────────────────────────────────────────────────────
//   assigned to this replica, and free      claims the partition
//   assigned to this replica, not free      waits until the owner releases the partition, or is silent for 2.5 s or more
//   its own, assigned to another replica    stops deliveries, stores offsets, releases the partition
//   its own, but its broadcasts are lost    begins no attempt and stores nothing until MongoDB confirms its claims
//   its own for 10 s                        asks MongoDB: broadcasts to another replica may be lost that this replica hears
//   its own, but MongoDB was restored       forgets the partition and its endpoints, and claims the partition again
import { hash } from 'node:crypto';
import { partitionsNumber } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import { openPeriodicCheck, type PeriodicCheck } from '@integration-sync/runtime/periodic-check';
import type { Offsets, OffsetsByIntegration } from '../log/offsets.ts';
import type { LoggedBatch } from '../log/logged-batch.ts';
import type { ReadPartition } from '../log/log-reader.ts';
import type { LogStream } from '../log/stream.ts';
import type { Claim, Claims } from './partition-claims.ts';
import type { Replicas } from './replicas.ts';

export interface OwnedPartition extends Claim, ReadPartition {}

/** The partitions that this replica owns, by number. Only the class Ownership changes the map. */
export class OwnedPartitions extends Map<number, OwnedPartition> {
  readonly #replicas: Pick<Replicas, 'isHeard' | 'gaps'>;
  /** The value of `Replicas.gaps` before MongoDB last confirmed the claims. */
  #verifiedGaps = 0;

  constructor(replicas: Pick<Replicas, 'isHeard' | 'gaps'>) {
    super();
    this.#replicas = replicas;
  }

  /** Event batches that a floor must not pass, because other work than their deliveries is unfinished. */
  readonly #held = new Set<Pick<LoggedBatch, 'partition' | 'sequence'>>();

  /** Keeps the floor of the partition before this event batch, until disposal. */
  holdFloor({ partition, sequence }: Pick<LoggedBatch, 'partition' | 'sequence'>): Disposable {
    const held = { partition, sequence };
    this.#held.add(held);
    return { [Symbol.dispose]: () => void this.#held.delete(held) };
  }

  /** The floor of a partition of which all deliveries up to `through` are done. */
  floorOf({ partition, through }: ReadPartition): number {
    let floor = through;
    for (const held of this.#held)
      if (held.partition === partition) floor = Math.min(floor, held.sequence - 1);
    return floor;
  }

  /** False after the broadcasts of this replica may not have reached other replicas, until MongoDB confirms its claims. */
  get isSure(): boolean {
    return this.#replicas.isHeard && this.#replicas.gaps === this.#verifiedGaps;
  }

  /** Called when MongoDB has confirmed the claims. `gaps` is the value of `Replicas.gaps` before the query. */
  areVerified(gaps: number): void {
    this.#verifiedGaps = gaps;
  }
}

export interface OwnershipChanges {
  /** Called when this replica has claimed partitions. `offsets` are the stored offsets of their endpoints. */
  onTaken(taken: readonly OwnedPartition[], offsets: OffsetsByIntegration): Promise<void>;
  /** Called before partitions are released. Resolves with a function, which is called once they are removed from `owned`. */
  onReleased(released: readonly OwnedPartition[]): Promise<() => void>;
  /** Called when another replica has claimed the partitions, or the log has another id. Resolves once they are no longer read. */
  onLost(lost: readonly OwnedPartition[]): Promise<void>;
}

interface OwnershipOptions {
  bus: Pick<Bus, 'broadcast' | 'listen'>;
  replicas: Replicas;
  claims: Claims;
  offsets: Pick<Offsets, 'ofPartitions'>;
  owned: OwnedPartitions;
  stream: Pick<LogStream, 'facts'>;
  changes: OwnershipChanges;
  /** Called when MongoDB was restored from an older copy. */
  forgetEndpoints: () => void;
  /** Counts partitions that other replicas have claimed from this replica, although it was alive. */
  lostToOthers: (partitions: number) => void;
  log: Log;
}

const everyMs = 500;
const verifiedEveryMs = 10_000;
const givenBackSubject = 'webhooks.partitions.given-back';

export class Ownership implements AsyncDisposable {
  readonly #options: OwnershipOptions;
  /** Claims of partitions that this replica no longer owns, but whose release MongoDB has not stored yet. */
  #released: Claim[] = [];
  #isEnding = false;
  #failingSince: number | undefined;
  #verifiedAt = performance.now();
  readonly #checks: PeriodicCheck;
  readonly #listening = new DisposableStack();

  constructor(options: OwnershipOptions) {
    this.#options = options;
    const { bus, replicas, log } = options;
    const checking = { what: 'the partitions of this replica', everyMs, log };
    this.#checks = openPeriodicCheck(() => this.#check(), checking);
    this.#listening.use(replicas.share(this.#checks.now));
    this.#listening.use(bus.listen(givenBackSubject, this.#checks.now));
    this.#checks.now();
  }

  get failingForMs(): number {
    return this.#failingSince === undefined ? 0 : performance.now() - this.#failingSince;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnding = true;
    this.#listening.dispose();
    await this.#checks[Symbol.asyncDispose]();
    await this.#release([...this.#options.owned.values()]).catch((error: unknown) => {
      this.#options.log.warn(
        { err: error },
        'partitions could not be released; another replica will claim them within seconds',
      );
    });
  }

  async #check(): Promise<void> {
    const { replicas, claims, owned, stream, forgetEndpoints, log } = this.#options;
    try {
      if (!replicas.isHeard) return;
      if (claims.areLost) {
        log.error('MongoDB was restored from an older copy: deliveries continue where the copy has them');
        forgetEndpoints();
        await this.#lose([...owned.values()]);
        claims.dropped();
      }
      const isDue = !owned.isSure || performance.now() - this.#verifiedAt >= verifiedEveryMs;
      const unknown = isDue ? await this.#verify() : [];
      // If the log was created again or restored, this replica drops its claims of the former log and claims the partitions again.
      await this.#lose([...owned.values()].filter((claim) => claim.stream !== stream.facts.id));
      const wanted = this.#wanted();
      await this.#release([...owned.values()].filter(({ partition }) => !wanted.has(partition)));
      // The next check releases those that are assigned to another replica, which waits for this replica.
      for (const partition of unknown) wanted.add(partition);
      await this.#take([...wanted].filter((partition) => !owned.has(partition)));
      this.#failingSince = undefined;
    } catch (error) {
      this.#failingSince ??= performance.now();
      throw error;
    }
  }

  #wanted(): Set<number> {
    const { replicas } = this.#options;
    const owners = this.#isEnding ? [] : assign(replicas.sharing());
    return new Set(owners.flatMap((id, partition) => (id === replicas.self ? [partition] : [])));
  }

  /** Resolves with partitions that this replica owns only by MongoDB: the answer to a claim was lost, or MongoDB was restored. */
  async #verify(): Promise<number[]> {
    const { claims, owned, replicas, lostToOthers, log } = this.#options;
    const { gaps } = replicas;
    const now = performance.now();
    const terms = await claims.terms();
    const lost = [...owned.values()].filter(({ partition, term }) => terms.get(partition) !== term);
    if (lost.length > 0) {
      log.warn({ partitions: numbersOf(lost) }, 'another replica has claimed partitions of this replica');
      replicas.wasTaken();
      lostToOthers(lost.length);
      await this.#lose(lost);
    }
    owned.areVerified(gaps);
    this.#verifiedAt = now;
    return [...terms.keys()].filter((partition) => !owned.has(partition));
  }

  /** Waits until the partitions are no longer read: a late message after a new claim would make the replica skip messages. */
  async #lose(lost: readonly OwnedPartition[]): Promise<void> {
    if (lost.length === 0) return;
    for (const { partition } of lost) this.#options.owned.delete(partition);
    await this.#options.changes.onLost(lost);
  }

  async #release(released: readonly OwnedPartition[]): Promise<void> {
    const { bus, claims, owned, changes, log } = this.#options;
    if (released.length > 0) {
      const onLeft = await changes.onReleased(released);
      for (const one of released) {
        owned.delete(one.partition);
        this.#released.push({ ...one, floor: owned.floorOf(one) });
      }
      onLeft();
    }
    const all = this.#released;
    if (all.length === 0) return;
    await claims.giveBack(all);
    this.#released = [];
    bus.broadcast(givenBackSubject, '');
    log.info({ partitions: numbersOf(all) }, 'this replica released partitions');
  }

  async #take(lacking: readonly number[]): Promise<void> {
    if (lacking.length === 0) return;
    const { replicas, claims, offsets, owned, changes, log } = this.#options;
    const claimed = await claims.take(lacking, (owner) => replicas.isDead(owner));
    if (claimed.length === 0) return;
    const taken = claimed.map((claim) => Object.assign(claim, { through: claim.floor }));
    // If reading the offsets fails, the next check claims the partitions again: in MongoDB, this replica is already their owner.
    const stored = await offsets.ofPartitions(taken);
    for (const one of taken) owned.set(one.partition, one);
    try {
      await changes.onTaken(taken, stored);
    } catch (error) {
      await this.#lose(taken);
      throw error;
    }
    log.info({ partitions: numbersOf(taken) }, 'this replica claimed partitions');
  }
}

const numbersOf = (claims: readonly Claim[]): number[] => claims.map(({ partition }) => partition);

/**
 * The replica of each partition: the same at all replicas that hear the same replicas, else the claims decide
 * (partition-claims.ts). Few partitions move when a replica starts or ends.
 */
export function assign(replicas: readonly string[], number = partitionsNumber): string[] {
  const shareMax = Math.ceil(number / replicas.length);
  const shares = new Map<string, number>();
  const sorted = replicas.toSorted();
  return Array.from({ length: sorted.length === 0 ? 0 : number }, (_, partition) => {
    const [owner = ''] = sorted
      .filter((replica) => (shares.get(replica) ?? 0) < shareMax)
      .map((replica) => ({ replica, rank: hash('sha256', `${partition} ${replica}`) }))
      .toSorted((one, other) => (one.rank < other.rank ? -1 : 1))
      .map(({ replica }) => replica);
    shares.set(owner, (shares.get(owner) ?? 0) + 1);
    return owner;
  });
}
