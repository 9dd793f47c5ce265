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
import { openPeriodicCheck } from '@integration-sync/runtime/periodic-check';
import type { Claim, Claims } from './claims.ts';
import type { Replicas } from './replicas.ts';

export interface Ownership extends AsyncDisposable {
  /** Whether what is owned is certainly this replica's. */
  readonly isSure: boolean;
  /** For how long this replica has tried in vain to find out what is its own. */
  readonly failingForMs: number;
  /** Gives everything up, and claims it anew: the log is another one. */
  beginAnew(): void;
  /** Gives everything back. */
  end(): Promise<void>;
}

export interface OwnershipOptions {
  bus: Pick<Bus, 'broadcast' | 'listen'>;
  replicas: Replicas;
  claims: Claims;
  /** Which replicas live: what others have in flight of what is this one's is theirs for as long. */
  onAlive: (alive: readonly string[]) => void;
  /** These are this replica's from now on. */
  onTaken: (claims: readonly Claim[]) => Promise<void>;
  /** Another replica is to have these. Resolves, with the floors at which it is to begin, once all is stored. */
  onReleased: (claims: readonly Claim[]) => Promise<Claim[]>;
  /** Another replica has these already. */
  onLost: (claims: readonly Claim[]) => void;
  log: Log;
}

const everyMs = 500;
const givenBackSubject = 'webhooks.partitions.given-back';

export function openOwnership(options: OwnershipOptions): Ownership {
  const { bus, replicas, claims, onAlive, onTaken, onReleased, onLost, log } = options;
  const owned = new Map<number, Claim>();
  let wasHeard = true;
  let isEnding = false;
  let isToBeginAnew = false;
  let failingSince: number | undefined;

  const mine = (): Set<number> =>
    new Set(isEnding ? [] : assign(replicas.sharing()).flatMap((id, n) => (id === replicas.self ? [n] : [])));

  const verify = async (): Promise<void> => {
    const standing = await claims.standing([...owned.values()]);
    const lost = [...owned.values()].filter((claim) => !standing.includes(claim));
    for (const { partition } of lost) owned.delete(partition);
    if (lost.length > 0) {
      log.warn({ partitions: numbersOf(lost) }, 'another replica has taken partitions meanwhile');
      onLost(lost);
    }
    wasHeard = true;
  };

  const release = async (released: readonly Claim[]): Promise<void> => {
    if (released.length === 0) return;
    await claims.giveBack(await onReleased(released));
    for (const { partition } of released) owned.delete(partition);
    bus.broadcast(givenBackSubject, '');
    log.info({ partitions: numbersOf(released) }, 'partitions given back');
  };

  const take = async (wanted: ReadonlySet<number>): Promise<void> => {
    const lacking = [...wanted].filter((partition) => !owned.has(partition));
    if (lacking.length === 0) return;
    const alive = replicas.alive();
    const taken = await claims.take(lacking, (owner) => alive?.includes(owner) === false);
    if (taken.length === 0) return;
    // Where this fails they are in the name of this replica, which takes them once more.
    await onTaken(taken);
    for (const claim of taken) owned.set(claim.partition, claim);
    log.info({ partitions: numbersOf(taken) }, 'partitions taken');
  };

  const check = async (): Promise<void> => {
    try {
      if (!replicas.isHeard) {
        wasHeard = false;
        return;
      }
      if (!wasHeard) await verify();
      if (isToBeginAnew) {
        isToBeginAnew = false;
        onLost([...owned.values()]);
        owned.clear();
      }
      const wanted = mine();
      await release([...owned.values()].filter(({ partition }) => !wanted.has(partition)));
      await take(wanted);
      const alive = replicas.alive();
      if (alive !== undefined) onAlive(alive);
      failingSince = undefined;
    } catch (error) {
      failingSince ??= performance.now();
      throw error;
    }
  };
  const checks = openPeriodicCheck(check, { what: 'the partitions of this replica', everyMs, log });
  const sharing = replicas.share(checks.now);
  const listening = bus.listen(givenBackSubject, checks.now);
  checks.now();

  return {
    get isSure() {
      wasHeard &&= replicas.isHeard;
      return wasHeard;
    },
    get failingForMs() {
      return failingSince === undefined ? 0 : performance.now() - failingSince;
    },
    beginAnew() {
      isToBeginAnew = true;
      checks.now();
    },
    async end() {
      isEnding = true;
      sharing[Symbol.dispose]();
      listening[Symbol.dispose]();
      await checks[Symbol.asyncDispose]();
      await release([...owned.values()]);
    },
    [Symbol.asyncDispose]: () => checks[Symbol.asyncDispose](),
  };
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
