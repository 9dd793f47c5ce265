// Lanes: how many deliveries of one endpoint, and of all, are in flight at once in this replica. No waiting, no
// sending: what runs in a lane is a function.
//
//   a lane has room for     8 in flight, while the process has fewer than half of what it may have in all;
//                           1 beyond that, so that a thousand hanging endpoints leave room for the others
//   what came too much      waits, a bounded number over all lanes; then nothing more is taken from the stream.
//                           What a keeper waits for is not among them: it has a bound of its own, and must not
//                           stop the stream for everybody
//   what waited too long    for a slow endpoint is given back after 300 ms, to be set aside, and until its lane is
//                           empty so is everything that finds no free place: it fills nobody else's memory
//
// An endpoint is slow if its own 8 are in flight and others wait all the same, or if one of them takes too long.
// One that waits for the common bound is not; nor is a fast one with a deep backlog, which stays under 300 ms.

export interface Job {
  run(): Promise<void>;
  /** Instead of running: there is no room for it. Absent where the job must be waited for. */
  giveBack?(): void;
}

export interface Lanes extends Disposable {
  /** False: no room, and not taken. */
  offer(endpointId: string, job: Required<Job>): boolean;
  /** Waits for its turn, however long that takes. */
  run<T>(endpointId: string, work: () => Promise<T>): Promise<Awaited<T>>;
  /** Resolves when there is room for another job; undefined if there is now. */
  room(): Promise<void> | undefined;
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
  patienceMs?: number;
}

interface Waiting extends Job {
  since: number;
}

interface Lane {
  /** When each began, oldest first. */
  inFlight: Set<{ since: number }>;
  queue: Waiting[];
  slow: boolean;
}

export function openLanes(limits: LaneLimits, now = () => performance.now()): Lanes {
  const { inFlightMax, perEndpoint = 8, waitingMax = 1_000, patienceMs = 300 } = limits;
  const lanes = new Map<string, Lane>();
  /** Lanes that have something waiting, in the order in which they get the next free place. */
  const hungry = new Set<string>();
  let inFlight = 0;
  let waiting = 0;
  const closing = new AbortController();
  let roomWanted = Promise.withResolvers<void>();
  let someoneWaits = false;
  let idle: (() => void) | undefined;

  const laneOf = (id: string): Lane => {
    const found = lanes.get(id);
    if (found !== undefined) return found;
    const lane: Lane = { inFlight: new Set(), queue: [], slow: false };
    lanes.set(id, lane);
    return lane;
  };

  const hasRoom = (lane: Lane): boolean =>
    inFlight < inFlightMax && lane.inFlight.size < (inFlight < inFlightMax / 2 ? perEndpoint : 1);

  const start = (id: string, lane: Lane, job: Job): void => {
    const begun = { since: now() };
    lane.inFlight.add(begun);
    inFlight += 1;
    void job.run().finally(() => {
      lane.inFlight.delete(begun);
      inFlight -= 1;
      feed(id, lane);
      if (hungry.size > 0 && inFlight + 1 >= inFlightMax / 2) feedOthers();
      if (inFlight === 0) idle?.();
    });
  };

  const feed = (id: string, lane: Lane): void => {
    while (!closing.signal.aborted && lane.queue.length > 0 && hasRoom(lane)) {
      const job = lane.queue.shift();
      if (job === undefined) break;
      if (!mustWait(job)) left(1);
      start(id, lane, job);
    }
    if (lane.queue.length === 0) {
      hungry.delete(id);
      if (lane.inFlight.size === 0) lanes.delete(id);
    }
  };

  /** Others can have been kept waiting by the common bounds only; each gets a place in turn. */
  const feedOthers = (): void => {
    for (const id of Array.from(hungry)) {
      if (inFlight >= inFlightMax) return;
      const lane = lanes.get(id);
      // To the end of the line.
      hungry.delete(id);
      if (lane === undefined || lane.queue.length === 0) continue;
      hungry.add(id);
      feed(id, lane);
    }
  };

  const left = (count: number): void => {
    waiting -= count;
    if (!someoneWaits || waiting >= waitingMax) return;
    someoneWaits = false;
    roomWanted.resolve();
  };

  const giveBack = (id: string, lane: Lane): void => {
    const returned = lane.queue.filter((job) => !mustWait(job));
    lane.queue = lane.queue.filter(mustWait);
    left(returned.length);
    feed(id, lane);
    for (const job of returned) job.giveBack?.();
  };

  const isSlow = ({ inFlight: own }: Lane, before: number): boolean => {
    const [oldest] = own;
    return own.size >= perEndpoint || (oldest !== undefined && oldest.since <= before);
  };

  const watch = setInterval(() => {
    const before = now() - patienceMs;
    for (const id of Array.from(hungry)) {
      const lane = lanes.get(id);
      const waitsLongest = lane?.queue.find((job) => !mustWait(job));
      if (lane === undefined || waitsLongest === undefined || waitsLongest.since > before) continue;
      if (!isSlow(lane, before)) continue;
      lane.slow = true;
      giveBack(id, lane);
    }
  }, patienceMs / 3);

  const queue = (id: string, lane: Lane, job: Job): void => {
    const queued = { ...job, since: now() };
    lane.queue.push(queued);
    if (!mustWait(queued)) waiting += 1;
    hungry.add(id);
  };

  return {
    offer(id, job) {
      if (closing.signal.aborted) return false;
      const lane = laneOf(id);
      if (lane.queue.length === 0 && hasRoom(lane)) start(id, lane, job);
      else if (lane.slow) return false;
      else queue(id, lane, job);
      return true;
    },
    run<T>(id: string, work: () => Promise<T>) {
      const { promise, resolve, reject } = Promise.withResolvers<Awaited<T>>();
      const lane = laneOf(id);
      const job: Job = {
        run: async () => {
          try {
            resolve(await work());
          } catch (error) {
            reject(error);
          }
        },
      };
      if (closing.signal.aborted || (lane.queue.length === 0 && hasRoom(lane))) start(id, lane, job);
      else queue(id, lane, job);
      return promise;
    },
    room() {
      if (waiting < waitingMax) return undefined;
      if (!someoneWaits) {
        someoneWaits = true;
        roomWanted = Promise.withResolvers();
      }
      return roomWanted.promise;
    },
    get inFlight() {
      return inFlight;
    },
    get waiting() {
      return waiting;
    },
    get open() {
      return lanes.size;
    },
    async close() {
      closing.abort();
      if (someoneWaits) roomWanted.resolve();
      for (const [id, lane] of Array.from(lanes)) {
        giveBack(id, lane);
        // What must be waited for ends sooner by running than by waiting for its turn.
        for (const job of lane.queue.splice(0)) start(id, lane, job);
      }
      if (inFlight === 0) return;
      const empty = Promise.withResolvers<void>();
      idle = () => empty.resolve();
      await empty.promise;
    },
    [Symbol.dispose]() {
      clearInterval(watch);
    },
  };
}

const mustWait = (job: Waiting): boolean => job.giveBack === undefined;
