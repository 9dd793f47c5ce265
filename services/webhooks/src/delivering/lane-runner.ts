// Starts the jobs of lanes as places become free: as many as a lane has room for, and its integration a share of.
import { openShares, type Shares } from '../tools/shares.ts';
import type { Job, Lane, LaneTable } from './lane.ts';
import type { Waiting } from './waiting.ts';

export interface LaneRunner {
  /** All of this replica. */
  readonly places: Pick<Shares, 'free' | 'mayTake' | 'taken'>;
  /** Whether a job that comes now has a place without waiting for it. */
  startsAtOnce(lane: Lane): boolean;
  start(lane: Lane, job: Job): void;
  /** Starts what waits in the lane, as far as there is room. */
  feed(lane: Lane): void;
  /** Resolves once nothing is in flight. */
  idle(): Promise<void>;
}

export interface LaneRunnerOptions {
  table: Pick<LaneTable, 'tidy' | 'inTurn'>;
  waiting: Pick<Waiting, 'leave'>;
  inFlightMax: number;
  perEndpoint: number;
  /** The process stops: what waits is not started any more. */
  closing: AbortSignal;
  now: () => number;
}

const placeShares = { timesFree: 10, keptOf: 1 / 100 };

export function openLaneRunner(options: LaneRunnerOptions): LaneRunner {
  const { table, waiting, inFlightMax, perEndpoint, closing, now } = options;
  const { timesFree, keptOf } = placeShares;
  const places = openShares({ max: inFlightMax, timesFree, kept: Math.floor(inFlightMax * keptOf) });
  let onIdle: (() => void) | undefined;
  let feeding: NodeJS.Immediate | undefined;

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
      if (wasCrowded) feedAllSoon(lane);
      else feed(lane);
      if (places.taken === 0) onIdle?.();
    });
  };

  const feed = (lane: Lane): void => {
    while (!closing.aborted && lane.queue.length > 0 && hasRoom(lane)) {
      const job = lane.queue.shift();
      if (job === undefined) break;
      waiting.leave([job.way], lane.integration);
      start(lane, job);
    }
    table.tidy(lane);
  };

  /**
   * Where the bounds that are common to several lanes kept some waiting, each gets a place in turn. There may be thousands
   * of them, so the places that become free at about the same time are given away together.
   */
  const feedAll = (): void => {
    feeding = undefined;
    for (const lane of table.inTurn(places)) if (hasRoom(lane)) feed(lane);
  };
  const feedAllSoon = (lane: Lane): void => {
    table.tidy(lane);
    feeding ??= setImmediate(feedAll);
  };

  return {
    places,
    // Places that are to be given away go to those that wait.
    startsAtOnce: (lane) => lane.queue.length === 0 && feeding === undefined && hasRoom(lane),
    start,
    feed,
    async idle() {
      if (places.taken === 0) return;
      const empty = Promise.withResolvers<void>();
      onIdle = () => empty.resolve();
      await empty.promise;
    },
  };
}
