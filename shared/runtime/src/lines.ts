// Where work waits for its turn, in a line for each key. The room bounds what waits, in count and bytes, of one key and
// of all; when it is full, the key that takes the most gives up its latest for one that takes less.
import { Failure } from '@integration-sync/contracts';

/** What may wait. */
export interface WaitingRoom {
  countMax: number;
  bytesMax: number;
  /** The part of both that one key may take. */
  shareMax: number;
  patienceMs: number;
}

export interface Lines {
  /** How many wait. */
  readonly waiting: number;
  /** Resolves when the turn has come, rejects when it does not; throws where there is no room. */
  join(key: string, bytes: number): Promise<void>;
  /** Gives a turn to the key with the lowest rank, and among equals to the one whose last turn is the longest ago. */
  giveTurn(rankOf: (key: string) => number): string | undefined;
  /** Refuses what has waited since then, or before; the first of each line only if asked to. */
  refuse(since: number, firstAsWell: boolean): void;
}

interface Waiting {
  bytes: number;
  since: number;
  begin: () => void;
  refuse: (reason: Failure) => void;
}

interface Line {
  key: string;
  /** The longest waiting first. */
  waiting: Waiting[];
  bytes: number;
}

export function openLines(room: WaitingRoom): Lines {
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

  const shareOf = (count: number, bytes: number): number =>
    Math.max(count / room.countMax, bytes / room.bytesMax);

  const makeRoom = (own: Line, bytes: number): boolean => {
    const ownShare = shareOf(own.waiting.length + 1, own.bytes + bytes);
    if (ownShare > room.shareMax) return false;
    while (waiting >= room.countMax || bytesWaiting + bytes > room.bytesMax) {
      let most = own;
      let mostShare = ownShare;
      for (const line of lines.values()) {
        const share = shareOf(line.waiting.length, line.bytes);
        if (share > mostShare) [most, mostShare] = [line, share];
      }
      if (most === own) return false;
      take(most, most.waiting.length - 1)?.refuse(busy());
    }
    return true;
  };

  return {
    get waiting() {
      return waiting;
    },
    join(key, bytes) {
      const line = lines.get(key) ?? { key, waiting: [], bytes: 0 };
      if (!makeRoom(line, bytes)) throw busy();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      line.waiting.push({ bytes, since: performance.now(), begin: resolve, refuse: reject });
      line.bytes += bytes;
      lines.set(key, line);
      bytesWaiting += bytes;
      waiting += 1;
      return promise;
    },
    giveTurn(rankOf) {
      const line = lowestOf(lines.values(), rankOf);
      if (line === undefined) return undefined;
      take(line, 0)?.begin();
      if (lines.delete(line.key)) lines.set(line.key, line);
      return line.key;
    },
    refuse(since, firstAsWell) {
      const isOver = (one: Waiting | undefined): boolean => one !== undefined && one.since <= since;
      for (const line of lines.values()) {
        while (isOver(line.waiting[1])) take(line, 1)?.refuse(busy());
        if (firstAsWell && isOver(line.waiting[0])) take(line, 0)?.refuse(busy());
      }
    },
  };
}

/** The first of those with the lowest rank. */
function lowestOf(lines: Iterable<Line>, rankOf: (key: string) => number): Line | undefined {
  let next: Line | undefined;
  let lowest = Infinity;
  for (const line of lines) {
    const rank = rankOf(line.key);
    if (rank < lowest) [next, lowest] = [line, rank];
    if (lowest === 0) break;
  }
  return next;
}

const busy = (): Failure =>
  new Failure('unavailable', 'The service is busy; try again shortly.', { retryAfterSeconds: 1 });
