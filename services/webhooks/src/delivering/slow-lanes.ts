// Gives back jobs that waited too long in their lane, so that a slow endpoint fills no memory of the others
// (see lanes.ts).
import { openWatch } from '@integration-sync/runtime/watch';
import type { Lane, LaneTable, WaitingJob } from './lane.ts';
import type { LaneRunner } from './lane-runner.ts';
import type { Waiting } from './waiting.ts';

export interface SlowLanes extends Disposable {
  /** Something waits in a lane. */
  begin(): void;
  /** Gives back all of a lane that can be given back. */
  empty(lane: Lane): void;
}

export interface SlowLanesOptions {
  table: Pick<LaneTable, 'waiting'>;
  runner: Pick<LaneRunner, 'places' | 'feed'>;
  waiting: Pick<Waiting, 'leave' | 'tick'>;
  perEndpoint: number;
  /** How long a job of a slow endpoint waits before it is given back. */
  patienceMs: number;
  now: () => number;
}

/** Looks at all lanes that wait, three times within the patience. */
export function watchSlowLanes(options: SlowLanesOptions): SlowLanes {
  const { table, runner, waiting, perEndpoint, patienceMs, now } = options;

  const giveBack = (lane: Lane, which: (job: WaitingJob) => boolean): void => {
    const returned = lane.queue.filter(which);
    lane.queue = lane.queue.filter((job) => !which(job));
    waiting.leave(
      returned.map(({ way }) => way),
      lane.integration,
    );
    runner.feed(lane);
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
    } else if (runner.places.free > 0 && !runner.places.mayTake(lane.integration)) {
      giveBack(lane, (job) => job.way === 'shared' && waitsTooLong(job));
    }
  };

  const watch = openWatch(patienceMs / 3, () => {
    const before = now() - patienceMs;
    for (const lane of table.waiting()) lookAfter(lane, before);
    return waiting.tick() || table.waiting().length > 0;
  });

  return {
    begin: () => watch.begin(),
    empty: (lane) => giveBack(lane, mayBeGivenBack),
    [Symbol.dispose]() {
      watch[Symbol.dispose]();
    },
  };
}

const mayBeGivenBack = (job: WaitingJob): boolean => job.giveBack !== undefined;
