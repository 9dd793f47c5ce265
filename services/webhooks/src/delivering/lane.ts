// One lane, and the table of all that have something in flight or waiting. The table keeps the order in which lanes that
// wait get the next free place: integrations in turn, and the lanes of one integration in turn.
import type { Way } from '../streams/subjects.ts';
import type { Shares } from '../tools/shares.ts';

export interface Job {
  run(): Promise<void>;
  /** Instead of running: there is no room for it. Absent where the job must be waited for. */
  giveBack?(): void;
}

export interface LaneKey {
  endpointId: string;
  integration: string;
}

/** No way: an owner's, of what is held. */
export interface WaitingJob extends Job {
  way: Way | undefined;
  since: number;
}

export interface Lane extends LaneKey {
  /** When each began, oldest first. */
  inFlight: Set<{ since: number }>;
  queue: WaitingJob[];
  slow: boolean;
}

export interface LaneTable {
  readonly size: number;
  /** The lane of this endpoint, made if it is not there. */
  of(key: LaneKey): Lane;
  all(): Lane[];
  /** Puts a job into the queue of its lane. */
  enqueue(lane: Lane, job: WaitingJob): void;
  /** Forgets that the lane waits if its queue is empty, and the whole lane if nothing is in flight either. */
  tidy(lane: Lane): void;
  /** All that wait, as they stand at this moment. */
  waiting(): Lane[];
  /** Those that wait, in turn, for as long as there are places that their integrations may take. */
  inTurn(places: Pick<Shares, 'free' | 'mayTake'>): Generator<Lane>;
}

export function openLaneTable(): LaneTable {
  const lanes = new Map<string, Lane>();
  /** The endpoints whose lanes wait, by integration; both in the order in which they get the next free place. */
  const hungry = new Map<string, Set<string>>();

  return {
    get size() {
      return lanes.size;
    },
    of({ endpointId, integration }) {
      const found = lanes.get(endpointId);
      if (found !== undefined) return found;
      const lane: Lane = { endpointId, integration, inFlight: new Set(), queue: [], slow: false };
      lanes.set(endpointId, lane);
      return lane;
    },
    all: () => [...lanes.values()],
    enqueue(lane, job) {
      lane.queue.push(job);
      const others = hungry.get(lane.integration);
      if (others === undefined) hungry.set(lane.integration, new Set([lane.endpointId]));
      else others.add(lane.endpointId);
    },
    tidy({ endpointId, integration, queue, inFlight }) {
      if (queue.length > 0) return;
      const others = hungry.get(integration);
      others?.delete(endpointId);
      if (others?.size === 0) hungry.delete(integration);
      if (inFlight.size === 0) lanes.delete(endpointId);
    },
    waiting: () => [...hungry.values()].flatMap((ids) => [...ids].flatMap((id) => lanes.get(id) ?? [])),
    *inTurn(places) {
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
          if (lane !== undefined) yield lane;
        }
      }
    },
  };
}
