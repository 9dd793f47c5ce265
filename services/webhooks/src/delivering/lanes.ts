// Lanes: how many deliveries of one endpoint, of one integration, and of all, are in flight at once in this replica.
// No waiting, no sending: what runs in a lane is a function.
//
//   an integration has      places up to its share of all (shares.ts), so that some are free for one that has none;
//                           freed ones go to the integrations in turn, and there to the lanes in turn
//   a lane has room for     8 in flight, while its integration has less than half of all places and of its share;
//                           1 beyond that, so that a thousand hanging endpoints leave room for its others
//   what came too much      waits, a bounded number by each way (waiting.ts); then nothing more is taken by it
//   what waited too long    for a slow endpoint is given back after 300 ms, to be set aside, and until its lane is
//                           empty so is everything that finds no free place. What came by the shared way is given
//                           back, too, where its integration has all that it may have: it fills no memory of others
//
// An endpoint is slow if its own 8 are in flight and others wait all the same, or if one of them takes too long.
// One that waits for the common bound is not; nor is a fast one with a deep backlog, which stays under 300 ms.
import type { Way } from '../streams/messages.ts';
import { openShares } from '../tools/shares.ts';
import { openWaiting } from './waiting.ts';

export interface Job {
  run(): Promise<void>;
  /** Instead of running: there is no room for it. Absent where the job must be waited for. */
  giveBack?(): void;
}

export interface LaneKey {
  endpointId: string;
  integration: string;
}

export interface Lanes extends Disposable {
  /** False: no room, and not taken. */
  offer(key: LaneKey, job: Required<Job>, way: Way): boolean;
  /** Waits for its turn, however long that takes. */
  run<T>(key: LaneKey, work: () => Promise<T>): Promise<Awaited<T>>;
  /** Resolves when there is room for another job that comes by the shared way; undefined if there is now. */
  room(): Promise<void> | undefined;
  /** The same of the integration's own way. */
  backlogRoom(integration: string): Promise<void> | undefined;
  readonly inFlight: number;
  /** Those from the stream. */
  readonly waiting: number;
  /** Endpoints that have something in flight or waiting. */
  readonly open: number;
  /** Takes nothing more, and resolves once nothing is in flight. */
  close(): Promise<void>;
}

export interface LaneLimits {
  inFlightMax: number;
  perEndpoint?: number;
  waitingMax?: number;
  /** Of what integrations have waiting by ways of their own. */
  backlogMax?: number;
  patienceMs?: number;
}

/** No way: an owner's, of what is held. */
interface WaitingJob extends Job {
  way: Way | undefined;
  since: number;
}

interface Lane extends LaneKey {
  /** When each began, oldest first. */
  inFlight: Set<{ since: number }>;
  queue: WaitingJob[];
  slow: boolean;
}

const placeShares = { timesFree: 10, keptOf: 1 / 100 };

export function openLanes(limits: LaneLimits, now = () => performance.now()): Lanes {
  const { inFlightMax, perEndpoint = 8, patienceMs = 300 } = limits;
  const { waitingMax = 1_000, backlogMax = 2 * waitingMax } = limits;
  const lanes = new Map<string, Lane>();
  /** Lanes that have something waiting, by integration; both in the order in which they get the next free place. */
  const hungry = new Map<string, Set<string>>();
  const { timesFree, keptOf } = placeShares;
  const places = openShares({ max: inFlightMax, timesFree, kept: Math.floor(inFlightMax * keptOf) });
  const waiting = openWaiting({ sharedMax: waitingMax, backlogMax });
  const closing = new AbortController();
  let idle: (() => void) | undefined;

  const laneOf = ({ endpointId, integration }: LaneKey): Lane => {
    const found = lanes.get(endpointId);
    if (found !== undefined) return found;
    const lane: Lane = { endpointId, integration, inFlight: new Set(), queue: [], slow: false };
    lanes.set(endpointId, lane);
    return lane;
  };

  const hasRoom = ({ integration, inFlight }: Lane): boolean => {
    if (!places.mayTake(integration)) return false;
    const own = places.of(integration);
    return inFlight.size < (own < Math.min(inFlightMax, places.share) / 2 ? perEndpoint : 1);
  };

  const start = (lane: Lane, job: Job): void => {
    const begun = { since: now() };
    lane.inFlight.add(begun);
    places.take(lane.integration);
    void job.run().finally(() => {
      lane.inFlight.delete(begun);
      const wasCrowded = places.taken >= inFlightMax / 2;
      places.giveBack(lane.integration);
      if (wasCrowded) feedAll();
      feed(lane);
      if (places.taken === 0) idle?.();
    });
  };

  const feed = (lane: Lane): void => {
    while (!closing.signal.aborted && lane.queue.length > 0 && hasRoom(lane)) {
      const job = lane.queue.shift();
      if (job === undefined) break;
      waiting.leave([job.way], lane.integration);
      start(lane, job);
    }
    forgetIfEmpty(lane);
  };

  const forgetIfEmpty = ({ endpointId, integration, queue, inFlight }: Lane): void => {
    if (queue.length > 0) return;
    const others = hungry.get(integration);
    others?.delete(endpointId);
    if (others?.size === 0) hungry.delete(integration);
    if (inFlight.size === 0) lanes.delete(endpointId);
  };

  /** Where the bounds that are common to several lanes kept some waiting, each gets a place in turn. */
  const feedAll = (): void => {
    for (const [integration, ids] of Array.from(hungry)) {
      if (places.free === 0) return;
      if (!places.mayTake(integration)) continue;
      // To the end of the queue.
      hungry.delete(integration);
      hungry.set(integration, ids);
      for (const id of Array.from(ids)) {
        if (!places.mayTake(integration)) break;
        ids.delete(id);
        ids.add(id);
        const lane = lanes.get(id);
        if (lane !== undefined && hasRoom(lane)) feed(lane);
      }
    }
  };

  const giveBack = (lane: Lane, which: (job: WaitingJob) => boolean): void => {
    const returned = lane.queue.filter(which);
    lane.queue = lane.queue.filter((job) => !which(job));
    waiting.leave(
      returned.map(({ way }) => way),
      lane.integration,
    );
    feed(lane);
    for (const job of returned) job.giveBack?.();
  };

  const isSlow = ({ inFlight: own }: Lane, before: number): boolean => {
    const [oldest] = own;
    return own.size >= perEndpoint || (oldest !== undefined && oldest.since <= before);
  };

  const lookAfter = (lane: Lane, before: number): void => {
    const waitsTooLong = (job: WaitingJob): boolean => mayBeGivenBack(job) && job.since <= before;
    if (!lane.queue.some(waitsTooLong)) return;
    if (isSlow(lane, before)) {
      lane.slow = true;
      giveBack(lane, mayBeGivenBack);
    } else if (places.free > 0 && !places.mayTake(lane.integration)) {
      giveBack(lane, (job) => job.way === 'shared' && waitsTooLong(job));
    }
  };

  const watch = setInterval(() => {
    waiting.tick();
    const before = now() - patienceMs;
    for (const ids of Array.from(hungry.values())) {
      for (const id of Array.from(ids)) {
        const lane = lanes.get(id);
        if (lane !== undefined) lookAfter(lane, before);
      }
    }
  }, patienceMs / 3);

  const queue = (lane: Lane, job: Job, way: Way | undefined): void => {
    lane.queue.push({ ...job, way, since: now() });
    waiting.enter(way, lane.integration);
    const others = hungry.get(lane.integration);
    if (others === undefined) hungry.set(lane.integration, new Set([lane.endpointId]));
    else others.add(lane.endpointId);
  };

  return {
    offer(key, job, way) {
      if (closing.signal.aborted) return false;
      const lane = laneOf(key);
      if (lane.queue.length === 0 && hasRoom(lane)) start(lane, job);
      else if (lane.slow) return false;
      else queue(lane, job, way);
      return true;
    },
    run<T>(key: LaneKey, work: () => Promise<T>) {
      const { promise, resolve, reject } = Promise.withResolvers<Awaited<T>>();
      const lane = laneOf(key);
      const job: Job = {
        run: async () => {
          try {
            resolve(await work());
          } catch (error) {
            reject(error);
          }
        },
      };
      if (closing.signal.aborted || (lane.queue.length === 0 && hasRoom(lane))) start(lane, job);
      else queue(lane, job, undefined);
      return promise;
    },
    room: () => waiting.room(),
    backlogRoom: (integration) => waiting.backlogRoom(integration),
    get inFlight() {
      return places.taken;
    },
    get waiting() {
      return waiting.count;
    },
    get open() {
      return lanes.size;
    },
    async close() {
      closing.abort();
      waiting.close();
      for (const lane of Array.from(lanes.values())) {
        giveBack(lane, mayBeGivenBack);
        // What must be waited for ends sooner by running than by waiting for its turn.
        for (const job of lane.queue.splice(0)) start(lane, job);
      }
      if (places.taken === 0) return;
      const empty = Promise.withResolvers<void>();
      idle = () => empty.resolve();
      await empty.promise;
    },
    [Symbol.dispose]() {
      clearInterval(watch);
    },
  };
}

const mayBeGivenBack = (job: WaitingJob): boolean => job.giveBack !== undefined;
