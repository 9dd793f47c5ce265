// What is stored of how far deliveries are, by a periodic check:
//
//   an endpoint                                 is stored
//   ──────────────────────────────────────────  ─────────────────────────────────────────────────────────
//   keeps up                                    nothing of it: the floor of its partition goes on with it
//   has the same undelivered event for 300 ms   its offset; the floor of its partition goes on without it
//   is behind                                   its offset again, after 64 deliveries or 2 s
//   has caught up                               its offset goes
//   is before all that the log still holds      nothing; that events were lost to it is said
import type { Log } from '@integration-sync/runtime/log';
import { openPeriodicCheck } from '@integration-sync/runtime/periodic-check';
import type { LogPoint, Offsets, StoredOffset } from '../log/offsets.ts';
import type { Claim, Claims } from '../owning/claims.ts';
import type { EndpointQueue } from './endpoint-queue.ts';
import type { ActiveIntegration, Integrations } from './integrations.ts';

/** In flight at a handover: its next owner leaves it alone until this replica says how it ended. */
export interface HandedOver {
  queue: EndpointQueue;
  point: LogPoint;
}

export interface Progress extends AsyncDisposable {
  /** The endpoint may have something undelivered. */
  touch(queue: EndpointQueue): void;
  /** An attempt was used up that is stored nowhere else. */
  hurry(queue: EndpointQueue): void;
  /** How many endpoints are behind, and for how long the first of them has been. */
  readonly behind: number;
  readonly behindForMs: number;
  /** Stores what is undelivered of these, for their next owner. Resolves with what was in flight then. */
  handOver(
    integrations: readonly ActiveIntegration[],
    claims: ReadonlyMap<number, Claim>,
  ): Promise<readonly HandedOver[]>;
}

export interface ProgressOptions {
  /** This replica. */
  self: string;
  integrations: Pick<Integrations, 'get'>;
  claims: Pick<Claims, 'saveFloors'>;
  offsets: Pick<Offsets, 'save'>;
  /** Those of this replica, by partition. */
  owned: ReadonlyMap<number, Claim>;
  readThrough: (partition: number) => number;
  /** Of the log: what was before is gone. */
  firstSequence: () => number;
  /** The log dropped events before this endpoint had them. */
  onLost: (queue: EndpointQueue) => void;
  /** Whether what is owned is certainly this replica's: otherwise nothing is stored. */
  isSure: () => boolean;
  log: Log;
}

const everyMs = 100;
const heldUpMs = 300;
const savedEveryMs = 2_000;
const savedEveryDeliveries = 64;
const floorsEveryMs = 200;
const savesAtOnce = 16;

export function openProgress(options: ProgressOptions): Progress {
  const { self, integrations, claims, offsets, owned, readThrough, firstSequence, onLost, isSure, log } =
    options;
  /** Those with something undelivered, and the event batch that they wait at, and since when. */
  const busy = new Map<EndpointQueue, { first: number; since: number }>();
  const behind = new Set<EndpointQueue>();
  const hurried = new Set<EndpointQueue>();
  /** Said of them. */
  const lost = new Set<EndpointQueue>();
  /** Integrations of which an offset has gone. */
  const lessened = new Set<string>();
  let savedFloors = '';
  let floorsSavedAt = -Infinity;

  /** Follows the first undelivered event of each; what has none is no longer busy. */
  const follow = (now: number): void => {
    for (const [queue, at] of busy) {
      const first = queue.firstUndelivered();
      if (first === Infinity) {
        busy.delete(queue);
        hurried.delete(queue);
        lost.delete(queue);
        if (behind.delete(queue)) lessened.add(queue.integration);
        queue.behind = undefined;
        continue;
      }
      if (first !== at.first) busy.set(queue, { first, since: now });
      if (first >= firstSequence() || lost.has(queue)) continue;
      lost.add(queue);
      onLost(queue);
    }
  };

  const isDue = (queue: EndpointQueue, since: number, now: number): boolean => {
    if (hurried.has(queue)) return true;
    if (queue.behind === undefined) return now - since >= heldUpMs;
    return (
      queue.begun - queue.behind.begun >= savedEveryDeliveries ||
      (queue.begun > queue.behind.begun && now - queue.behind.savedAt >= savedEveryMs)
    );
  };

  const saveOne = async (name: string, due: ReadonlySet<EndpointQueue>, now: number): Promise<void> => {
    const active = integrations.get(name);
    const claim = active === undefined ? undefined : owned.get(active.partition);
    if (active === undefined || claim === undefined) return;
    const saved = active.queues.values().filter((queue) => behind.has(queue) || due.has(queue));
    const points = new Map<string, StoredOffset>();
    const begun = new Map<EndpointQueue, number>();
    for (const queue of saved) {
      points.set(queue.id, queue.offset(Date.now(), now));
      begun.set(queue, queue.begun);
    }
    await offsets.save(name, claim, points);
    for (const [queue, count] of begun) {
      hurried.delete(queue);
      if (!busy.has(queue)) continue;
      behind.add(queue);
      queue.behind = { since: queue.behind?.since ?? now, savedAt: now, begun: count };
    }
  };

  const saveOffsets = async (now: number): Promise<void> => {
    const due = new Map<string, Set<EndpointQueue>>();
    for (const [queue, { since }] of busy) {
      if (!isDue(queue, since, now)) continue;
      const others = due.get(queue.integration) ?? new Set();
      due.set(queue.integration, others.add(queue));
    }
    for (const name of lessened) due.set(name, due.get(name) ?? new Set());
    lessened.clear();
    const all = [...due];
    for (let from = 0; from < all.length; from += savesAtOnce) {
      const some = all.slice(from, from + savesAtOnce);
      try {
        await Promise.all(some.map(([name, queues]) => saveOne(name, queues, now)));
      } catch (error) {
        for (const [name] of all.slice(from)) lessened.add(name);
        throw error;
      }
    }
  };

  const floorsNow = (): Claim[] => {
    const floors = new Map(Array.from(owned.keys(), (partition) => [partition, readThrough(partition)]));
    for (const [queue, { first }] of busy) {
      if (behind.has(queue)) continue;
      const partition = integrations.get(queue.integration)?.partition ?? -1;
      const floor = floors.get(partition);
      if (floor !== undefined && first - 1 < floor) floors.set(partition, first - 1);
    }
    return Array.from(owned.values(), (claim) => ({
      ...claim,
      floor: floors.get(claim.partition) ?? claim.floor,
    }));
  };

  const saveFloors = async (floors: readonly Claim[], now: number): Promise<void> => {
    if (now - floorsSavedAt < floorsEveryMs) return;
    const text = JSON.stringify(floors);
    if (text === savedFloors) return;
    floorsSavedAt = now;
    await claims.saveFloors(floors);
    savedFloors = text;
  };

  const check = async (): Promise<void> => {
    const now = performance.now();
    follow(now);
    // Before anything is waited for: what comes meanwhile is above these floors.
    const floors = floorsNow();
    if (!isSure()) return;
    await saveOffsets(now);
    await saveFloors(floors, now);
  };
  /** What is stored later is never older. */
  let storing = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = storing.then(work);
    storing = turn.then(
      () => undefined,
      () => undefined,
    );
    return turn;
  };
  const checks = openPeriodicCheck(() => inTurn(check), { what: 'what is delivered', everyMs, log });

  return {
    touch(queue) {
      if (!busy.has(queue)) busy.set(queue, { first: Number.NaN, since: performance.now() });
    },
    hurry: (queue) => void hurried.add(queue),
    get behind() {
      return behind.size;
    },
    get behindForMs() {
      const since = Math.min(...Array.from(behind, (queue) => queue.behind?.since ?? Infinity));
      return since === Infinity ? 0 : performance.now() - since;
    },
    handOver: (ended, ofPartitions) =>
      inTurn(async () => {
        const now = performance.now();
        const inFlight: HandedOver[] = [];
        for (const active of ended) {
          const claim = ofPartitions.get(active.partition);
          if (claim === undefined) continue;
          const points = new Map<string, StoredOffset>();
          const undelivered = [...active.queues.values()].filter((queue) => busy.has(queue));
          for (const queue of undelivered) {
            const offset = queue.handover(Date.now(), now, self);
            points.set(queue.id, offset);
            for (const one of offset.open) if (one.heldBy === self) inFlight.push({ queue, point: one });
          }
          await offsets.save(active.name, claim, points);
        }
        return inFlight;
      }),
    [Symbol.asyncDispose]: () => checks[Symbol.asyncDispose](),
  };
}
