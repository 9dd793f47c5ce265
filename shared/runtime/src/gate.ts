// Lets a bounded amount of work be done at once; the rest waits for its turn.
//
// Work is done for a key, which is an integration. A place that becomes free goes to the waiting key that has the
// fewest places, and among equals by turns; within a key, first come first served. So no key waits longer because
// another has brought much. Spare places are for keys that have no place: one key never has all of them.
//
//   a place is free              inside at once
//   there is no room to wait     refused
//   waited for `patienceMs`      refused; the first of a key only if all places were kept for that long. While they
//                                change hands its turn will come, however many keys there are.
//
// Work inside may find that it must wait for other work of its key. It gives up its place for so long, and has its next turn
// before the work that had none yet. It is refused after `heldBackPatienceMs`, or after `patienceMs` where no work of its
// key has ended for that long.
import { openLines, type WaitingRoom } from './lines.ts';
import { openWatch } from './watch.ts';

export type { WaitingRoom } from './lines.ts';

export interface Gate {
  /** How many are inside now. */
  readonly inside: number;
  readonly waiting: number;
  /** Undefined where there is a place at once. Throws, or rejects, where the work is refused. */
  enter(key: string, bytes: number): Promise<void> | undefined;
  /** Once for each that has entered. */
  leave(key: string): void;
  /** Gives up a place, and resolves with another one after `until`. Where the work is refused, it has to leave all the same. */
  giveUpUntil(key: string, bytes: number, until: Promise<void>): Promise<void>;
  /** Enters for no key in particular, works and leaves. */
  pass<T>(work: () => Promise<T>): Promise<T>;
}

const unbounded: WaitingRoom = {
  countMax: Infinity,
  bytesMax: Infinity,
  shareMax: 1,
  patienceMs: Infinity,
  heldBackPatienceMs: Infinity,
};
const lookEveryMs = 100;

/** Who has places. */
function openPlaces(insideMax: number, spare: number) {
  const insideByKey = new Map<string, number>();
  let inside = 0;
  const of = (key: string): number => insideByKey.get(key) ?? 0;
  return {
    get inside() {
      return inside;
    },
    of,
    /** A key that has more places than this gets none now. */
    get heldMax() {
      if (inside < insideMax) return Infinity;
      return inside < insideMax + spare ? 0 : -1;
    },
    admit(key: string): void {
      inside += 1;
      insideByKey.set(key, of(key) + 1);
    },
    leave(key: string): void {
      inside -= 1;
      const left = of(key) - 1;
      if (left > 0) insideByKey.set(key, left);
      else insideByKey.delete(key);
    },
  };
}

/** One key has at most `insideMax` places. */
export function openGate(insideMax: number, room: WaitingRoom = unbounded, spare = 0): Gate {
  const lines = openLines(room);
  const places = openPlaces(insideMax, spare);
  let lastTurnAt = -Infinity;

  const giveTurn = (): void => {
    const next = lines.giveTurn(places.of, places.heldMax);
    if (next === undefined) return;
    lastTurnAt = performance.now();
    places.admit(next);
  };

  /** One for all that wait. */
  const watch = openWatch(lookEveryMs, () => {
    lines.refuse(performance.now() - lastTurnAt < room.patienceMs);
    return lines.waiting > 0;
  });
  const beginWatch = (): void => {
    if (room.patienceMs < Infinity) watch.begin();
  };

  const enter = (key: string, bytes: number): Promise<void> | undefined => {
    if (places.of(key) > places.heldMax) {
      const turn = lines.join(key, bytes);
      beginWatch();
      return turn;
    }
    places.admit(key);
    return undefined;
  };

  const leave = (key: string): void => {
    places.leave(key);
    lines.noteEnd(key);
    giveTurn();
  };

  const giveUpUntil = async (key: string, bytes: number, until: Promise<void>): Promise<void> => {
    const held = lines.holdBack(key, bytes);
    beginWatch();
    leave(key);
    void until.then(() => {
      held.release();
      giveTurn();
    });
    try {
      await held.turn;
    } catch (error) {
      places.admit(key);
      throw error;
    }
  };

  return {
    get inside() {
      return places.inside;
    },
    get waiting() {
      return lines.waiting;
    },
    enter,
    leave,
    giveUpUntil,
    async pass(work) {
      await enter('', 0);
      try {
        return await work();
      } finally {
        leave('');
      }
    },
  };
}
