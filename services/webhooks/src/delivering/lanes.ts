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
import type { Way } from '../streams/subjects.ts';
import { openLaneTable, type Job, type Lane, type LaneKey } from './lane.ts';
import { openLaneRunner } from './lane-runner.ts';
import { watchSlowLanes } from './slow-lanes.ts';
import { openWaiting } from './waiting.ts';

export type { Job, LaneKey } from './lane.ts';

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

export function openLanes(limits: LaneLimits, now = () => performance.now()): Lanes {
  const { inFlightMax, perEndpoint = 8, patienceMs = 300 } = limits;
  const { waitingMax = 1_000, backlogMax = 2 * waitingMax } = limits;
  const closing = new AbortController();
  const table = openLaneTable();
  const waiting = openWaiting({ sharedMax: waitingMax, backlogMax });
  const runner = openLaneRunner({ table, waiting, inFlightMax, perEndpoint, closing: closing.signal, now });
  const slowLanes = watchSlowLanes({ table, runner, waiting, perEndpoint, patienceMs, now });

  const queue = (lane: Lane, job: Job, way: Way | undefined): void => {
    table.enqueue(lane, { ...job, way, since: now() });
    waiting.enter(way, lane.integration);
    slowLanes.begin();
  };

  return {
    offer(key, job, way) {
      if (closing.signal.aborted) return false;
      const lane = table.of(key);
      if (runner.startsAtOnce(lane)) runner.start(lane, job);
      else if (lane.slow) return false;
      else queue(lane, job, way);
      return true;
    },
    run<T>(key: LaneKey, work: () => Promise<T>) {
      const { promise, resolve, reject } = Promise.withResolvers<Awaited<T>>();
      const lane = table.of(key);
      const job: Job = {
        run: async () => {
          try {
            resolve(await work());
          } catch (error) {
            reject(error);
          }
        },
      };
      if (closing.signal.aborted || runner.startsAtOnce(lane)) runner.start(lane, job);
      else queue(lane, job, undefined);
      return promise;
    },
    room: () => waiting.room(),
    backlogRoom: (integration) => waiting.backlogRoom(integration),
    get inFlight() {
      return runner.places.taken;
    },
    get waiting() {
      return waiting.count;
    },
    get open() {
      return table.size;
    },
    async close() {
      closing.abort();
      waiting.close();
      for (const lane of table.all()) {
        slowLanes.empty(lane);
        // A job that must be waited for ends sooner by running than by waiting for its turn.
        for (const job of lane.queue.splice(0)) runner.start(lane, job);
      }
      await runner.idle();
    },
    [Symbol.dispose]() {
      slowLanes[Symbol.dispose]();
    },
  };
}
