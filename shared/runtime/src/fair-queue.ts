// A fair queue, in which jobs wait for their turn in a line for each key. Limits bound the waiting jobs of each key and of all
// keys, by count and by bytes. If the queue is full, a new job replaces the latest job of the key with the most waiting jobs or
// bytes, if its own key has fewer. How many jobs of a key run at a time: semaphore.ts. How long requests wait: bus/serve.ts.
//
// A job may find in its turn that it must wait for another job. It then goes back to the head of its line, and gets no turn until
// it is ready.
import { Failure } from '@integration-sync/contracts';

export interface QueueLimits {
  countMax: number;
  bytesMax: number;
  /** The part of `countMax` and of `bytesMax` that the waiting jobs of one key may take. */
  shareMax: number;
  patienceMs: number;
  /** How long a job may wait for another job of its key. */
  heldBackPatienceMs: number;
}

export type FairQueue = ReturnType<typeof openFairQueue>;

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
  /** The jobs that had a turn before, then the other jobs; in each group, the longest waiting job first. */
  waiting: Waiting[];
  bytes: number;
  /** When a job of the key last ended. */
  movedAt: number;
}

export function openFairQueue(limits: QueueLimits) {
  /** Lines in the order of turns; an empty line is removed. */
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
    get waiting(): number {
      return waiting;
    },
    /** Resolves when the job has its turn; rejects when the queue refuses the job, and throws when the queue is full. */
    join: (key: string, bytes: number): Promise<void> => add(key, bytes, false).turn,
    /** Puts back a job that had a turn before, and waits for another job of its key. Throws when the queue is full. */
    holdBack(key: string, bytes: number) {
      const { turn, one } = add(key, bytes, true);
      return {
        /** Resolves when the job has its next turn; rejects when the queue refuses the job. */
        turn,
        /** Notes that the job no longer waits for another job: it may have its turn. */
        release(): void {
          one.isReady = true;
          one.since = performance.now();
        },
      };
    },
    /**
     * Gives a turn to the key with the lowest rank (the number of its permits) up to `rankMax`. Among equal keys, the key whose
     * last turn is the longest ago gets it. A job that has waited for less than `waitedMsMin` gets no turn.
     */
    giveTurn(rankOf: (key: string) => number, rankMax: number, waitedMsMin: number): string | undefined {
      const line = lowestOf(lines.values(), waitedMsMin, rankOf, rankMax);
      if (line === undefined) return undefined;
      take(line, line.waiting.findIndex(isReady))?.begin();
      if (lines.delete(line.key)) lines.set(line.key, line);
      return line.key;
    },
    noteEnd(key: string): void {
      const line = lines.get(key);
      if (line !== undefined) line.movedAt = performance.now();
    },
    /** Refuses jobs that have waited too long. While turns go on, the first ready job of each line stays: its turn will come. */
    refuse(turnsGoOn: boolean): void {
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

/** The line that takes the largest part of the queue; undefined if no line takes more than the part `share`. */
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

/** Of the lines with a ready job that has waited long enough, the first with the lowest rank, which is `rankMax` at most. */
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
