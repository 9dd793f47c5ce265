// A fair queue: where work waits for its turn, in a line for each key. Limits bound what waits, in count and bytes, of one key
// and of all; when the queue is full, the key that takes the most gives up its latest for one that takes less.
// How many jobs of a key may run at once: semaphore.ts.
//
// Work that had its turn and must wait for other work first stands before the work that had none yet, and is passed over
// until it is ready.
import { Failure } from '@integration-sync/contracts';

/** What may wait. */
export interface QueueLimits {
  countMax: number;
  bytesMax: number;
  /** The part of both that one key may take. */
  shareMax: number;
  patienceMs: number;
  /** Of work that waits for other work of its key. */
  heldBackPatienceMs: number;
}

export interface HeldBack {
  /** Resolves when the next turn has come, rejects when it does not. */
  turn: Promise<void>;
  /** It need not wait for other work any more. */
  release(): void;
}

export interface FairQueue {
  /** How many wait. */
  readonly waiting: number;
  /** Resolves when the turn has come, rejects when it does not; throws where there is no room. */
  join(key: string, bytes: number): Promise<void>;
  /** For work that had a turn before. Throws where there is no room. */
  holdBack(key: string, bytes: number): HeldBack;
  /**
   * Gives a turn to the key with the lowest rank, unless that is over `rankMax`, and among equals to the one whose last turn
   * is the longest ago. Work that has waited for less gets none.
   */
  giveTurn(rankOf: (key: string) => number, rankMax: number, waitedMsMin: number): string | undefined;
  /** Work of the key has ended. */
  noteEnd(key: string): void;
  /** Refuses what has waited too long. Where turns go on, the first of each line that is ready will have its own. */
  refuse(turnsGoOn: boolean): void;
}

interface Waiting {
  bytes: number;
  since: number;
  hadTurn: boolean;
  isReady: boolean;
  begin: () => void;
  refuse: (reason: Failure) => void;
}

interface Line {
  key: string;
  /** First those that had a turn before; of both, the longest waiting first. */
  waiting: Waiting[];
  bytes: number;
  /** When work of the key ended last. */
  movedAt: number;
}

export function openFairQueue(limits: QueueLimits): FairQueue {
  /** In the order of turns. None is empty. */
  const lines = new Map<string, Line>();
  let waiting = 0;
  let bytesWaiting = 0;

  const take = (line: Line, index: number): Waiting | undefined => {
    const [one] = line.waiting.splice(index, 1);
    if (one === undefined) return undefined;
    line.bytes -= one.bytes;
    bytesWaiting -= one.bytes;
    waiting -= 1;
    if (line.waiting.length === 0) lines.delete(line.key);
    return one;
  };

  const makeRoom = (own: Line, bytes: number): boolean => {
    const ownShare = shareOf(limits, own.waiting.length + 1, own.bytes + bytes);
    if (ownShare > limits.shareMax) return false;
    while (waiting >= limits.countMax || bytesWaiting + bytes > limits.bytesMax) {
      const most = lineOver(lines.values(), limits, ownShare);
      if (most === undefined) return false;
      take(most, most.waiting.length - 1)?.refuse(busy());
    }
    return true;
  };

  const add = (key: string, bytes: number, hadTurn: boolean): { turn: Promise<void>; one: Waiting } => {
    const line = lines.get(key) ?? { key, waiting: [], bytes: 0, movedAt: -Infinity };
    if (!makeRoom(line, bytes)) throw busy();
    const { promise: turn, resolve, reject } = Promise.withResolvers<void>();
    const since = performance.now();
    const one = { bytes, since, hadTurn, isReady: !hadTurn, begin: resolve, refuse: reject };
    insert(line, one);
    lines.set(key, line);
    bytesWaiting += bytes;
    waiting += 1;
    return { turn, one };
  };

  return {
    get waiting() {
      return waiting;
    },
    join: (key, bytes) => add(key, bytes, false).turn,
    holdBack(key, bytes) {
      const { turn, one } = add(key, bytes, true);
      return {
        turn,
        release() {
          one.isReady = true;
          one.since = performance.now();
        },
      };
    },
    giveTurn(rankOf, rankMax, waitedMsMin) {
      const line = lowestOf(lines.values(), waitedMsMin, rankOf, rankMax);
      if (line === undefined) return undefined;
      take(line, line.waiting.findIndex(isReady))?.begin();
      if (lines.delete(line.key)) lines.set(line.key, line);
      return line.key;
    },
    noteEnd(key) {
      const line = lines.get(key);
      if (line !== undefined) line.movedAt = performance.now();
    },
    refuse(turnsGoOn) {
      for (const line of lines.values()) {
        for (const one of overdueIn(line, limits, turnsGoOn)) {
          take(line, line.waiting.indexOf(one))?.refuse(busy());
        }
      }
    },
  };
}

const shareOf = ({ countMax, bytesMax }: QueueLimits, count: number, bytes: number): number =>
  Math.max(count / countMax, bytes / bytesMax);

/** The one with the largest share, where that is larger. */
function lineOver(lines: Iterable<Line>, limits: QueueLimits, share: number): Line | undefined {
  let most: Line | undefined;
  let mostShare = share;
  for (const line of lines) {
    const its = shareOf(limits, line.waiting.length, line.bytes);
    if (its > mostShare) [most, mostShare] = [line, its];
  }
  return most;
}

function insert(line: Line, one: Waiting): void {
  const firstNew = one.hadTurn ? line.waiting.findIndex((other) => !other.hadTurn) : -1;
  line.waiting.splice(firstNew === -1 ? line.waiting.length : firstNew, 0, one);
  line.bytes += one.bytes;
}

function overdueIn({ waiting, movedAt }: Line, limits: QueueLimits, turnsGoOn: boolean): Waiting[] {
  const now = performance.now();
  const next = turnsGoOn ? waiting.find(isReady) : undefined;
  const isMoving = now - movedAt < limits.patienceMs;
  return waiting.filter((one) => {
    const patienceMs = isMoving && !one.isReady ? limits.heldBackPatienceMs : limits.patienceMs;
    return one !== next && now - one.since >= patienceMs;
  });
}

const isReady = (one: Waiting): boolean => one.isReady;

function isDue({ waiting }: Line, begunBy: number): boolean {
  const first = waiting.find(isReady);
  return first !== undefined && first.since <= begunBy;
}

/** The first of those with the lowest rank that have work that is ready. */
function lowestOf(
  lines: Iterable<Line>,
  waitedMsMin: number,
  rankOf: (key: string) => number,
  rankMax: number,
): Line | undefined {
  const begunBy = waitedMsMin === 0 ? Infinity : performance.now() - waitedMsMin;
  let next: Line | undefined;
  let lowest = rankMax + 1;
  for (const line of lines) {
    const rank = rankOf(line.key);
    if (rank < lowest && isDue(line, begunBy)) [next, lowest] = [line, rank];
    if (lowest === 0) break;
  }
  return next;
}

const busy = (): Failure =>
  new Failure('unavailable', 'The service is busy; try again shortly.', { retryAfterSeconds: 1 });
