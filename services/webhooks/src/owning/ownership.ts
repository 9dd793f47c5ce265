// The partitions that this replica owns: it alone reads them and delivers what is in them.
//
//   a partition is               this replica
//   ───────────────────────────  ─────────────────────────────────────────────────────────────────────────
//   assigned to it, and free     claims it at once
//   assigned to it, another's    waits until that one gives it back, or has been silent for 2.5 s
//   its own, assigned to another stops, stores what is undelivered, gives it back
//   its own, and nobody hears    begins and stores nothing until it has found its claims as they were
//   this replica
import { hash } from 'node:crypto';
import { partitionsNumber } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import { openPeriodicCheck, type PeriodicCheck } from '@integration-sync/runtime/periodic-check';
import type { Offsets, OffsetsByIntegration } from '../log/offsets.ts';
import type { LogStream, ReadPartition } from '../log/reader.ts';
import type { Claim, Claims } from './claims.ts';
import type { Replicas } from './replicas.ts';

export interface OwnedPartition extends Claim, ReadPartition {}

/** This replica's partitions, by number. Only Ownership changes the map. */
export class OwnedPartitions extends Map<number, OwnedPartition> {
  readonly #replicas: Pick<Replicas, 'isHeard'>;
  #wasHeard = true;

  constructor(replicas: Pick<Replicas, 'isHeard'>) {
    super();
    this.#replicas = replicas;
  }

  /** False from the moment the others may not have heard this replica, until MongoDB shows that its claims stand. */
  get isSure(): boolean {
    this.#wasHeard &&= this.#replicas.isHeard;
    return this.#wasHeard;
  }

  areVerified(): void {
    this.#wasHeard = true;
  }

  readThrough(partition: number): number {
    return this.get(partition)?.through ?? 0;
  }
}

export interface OwnershipChanges {
  /** These are this replica's from now on, with the offsets that are stored of them. */
  onTaken(taken: readonly OwnedPartition[], offsets: OffsetsByIntegration): Promise<void>;
  /**
   * Partitions are to be given back. Resolves once they are read no more and their offsets are stored, with a function to call
   * when they have left `owned`.
   */
  onReleased(released: readonly OwnedPartition[]): Promise<() => Promise<void>>;
  /** Another replica has taken these, or the log is another one. Resolves once they are read no more. */
  onLost(lost: readonly OwnedPartition[]): Promise<void>;
  /** The replicas that live. Events that one of them has in flight are left to it. */
  onAlive(alive: readonly string[]): void;
}

interface OwnershipOptions {
  bus: Pick<Bus, 'broadcast' | 'listen'>;
  replicas: Replicas;
  claims: Claims;
  offsets: Pick<Offsets, 'ofPartitions'>;
  owned: OwnedPartitions;
  stream: Pick<LogStream, 'facts'>;
  changes: OwnershipChanges;
  log: Log;
}

const everyMs = 500;
const givenBackSubject = 'webhooks.partitions.given-back';

export class Ownership implements AsyncDisposable {
  readonly #options: OwnershipOptions;
  /** Partitions that have left memory, and are this replica's in MongoDB until they are given back. */
  #released: Claim[] = [];
  #isEnding = false;
  #failingSince: number | undefined;
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

  /** For how long the checks have failed. */
  get failingForMs(): number {
    return this.#failingSince === undefined ? 0 : performance.now() - this.#failingSince;
  }

  /** Gives everything back. */
  async end(): Promise<void> {
    this.#isEnding = true;
    this.#listening.dispose();
    await this.#checks[Symbol.asyncDispose]();
    await this.#release([...this.#options.owned.values()]);
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#checks[Symbol.asyncDispose]();
  }

  async #check(): Promise<void> {
    const { replicas, owned, stream, changes } = this.#options;
    try {
      // Read in each check: the getter notes that this replica was not heard.
      const isSure = owned.isSure;
      if (!replicas.isHeard) return;
      if (!isSure) await this.#verify();
      // Where the log was made again, this replica gives up the partitions that it claimed of the log before, and claims them anew.
      await this.#lose([...owned.values()].filter((claim) => claim.stream !== stream.facts.id));
      const wanted = this.#wanted();
      await this.#release([...owned.values()].filter(({ partition }) => !wanted.has(partition)));
      await this.#take([...wanted].filter((partition) => !owned.has(partition)));
      const alive = replicas.alive();
      if (alive !== undefined) changes.onAlive(alive);
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

  async #verify(): Promise<void> {
    const { claims, owned, log } = this.#options;
    const standing = await claims.standing([...owned.values()]);
    const lost = [...owned.values()].filter((claim) => !standing.includes(claim));
    if (lost.length > 0) {
      log.warn({ partitions: numbersOf(lost) }, 'another replica has taken partitions meanwhile');
      await this.#lose(lost);
    }
    owned.areVerified();
  }

  /** Waits for the end of reading: a late message of it would make a partition that is taken again skip what is before. */
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
        this.#released.push({ ...one, floor: one.through });
      }
      await onLeft();
    }
    const all = this.#released;
    if (all.length === 0) return;
    await claims.giveBack(all);
    this.#released = [];
    bus.broadcast(givenBackSubject, '');
    log.info({ partitions: numbersOf(all) }, 'partitions given back');
  }

  async #take(lacking: readonly number[]): Promise<void> {
    if (lacking.length === 0) return;
    const { replicas, claims, offsets, owned, changes, log } = this.#options;
    const alive = replicas.alive();
    const claimed = await claims.take(lacking, (owner) => alive?.includes(owner) === false);
    if (claimed.length === 0) return;
    const taken = claimed.map((claim) => Object.assign(claim, { through: claim.floor }));
    // A failure leaves the claims in the name of this replica, which takes them again.
    const stored = await offsets.ofPartitions(numbersOf(taken));
    for (const one of taken) owned.set(one.partition, one);
    try {
      await changes.onTaken(taken, stored);
    } catch (error) {
      await this.#lose(taken);
      throw error;
    }
    log.info({ partitions: numbersOf(taken) }, 'partitions taken');
  }
}

const numbersOf = (claims: readonly Claim[]): number[] => claims.map(({ partition }) => partition);

/**
 * Which replica is to own each partition; empty where there is no replica. Pure: every replica computes it from the replicas
 * that it hears, and those that hear the same come to the same. No replica has more than its share, and few partitions move
 * when a replica comes or goes. Where two replicas differ for a moment, the claims decide (claims.ts).
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
