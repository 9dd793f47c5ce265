// Lets a bounded amount of work be done at once; the rest waits for its turn.
//
// Work is done for a key, which is an integration. A place that becomes free goes to the waiting key that has the
// fewest places, and among equals by turns; within a key, first come first served. So no key waits longer because
// another has brought much.
//
//   a place is free              inside at once
//   there is no room to wait     refused
//   waited for `patienceMs`      refused; the first of a key only if all places were kept for that long. While they
//                                change hands its turn will come, however many keys there are.
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
  /** Enters for no key in particular, works and leaves. */
  pass<T>(work: () => Promise<T>): Promise<T>;
}

const unbounded: WaitingRoom = { countMax: Infinity, bytesMax: Infinity, shareMax: 1, patienceMs: Infinity };
const lookEveryMs = 100;

export function openGate(insideMax: number, room: WaitingRoom = unbounded): Gate {
  const lines = openLines(room);
  const insideByKey = new Map<string, number>();
  let inside = 0;
  let lastTurnAt = -Infinity;

  const insideOf = (key: string): number => insideByKey.get(key) ?? 0;

  const admit = (key: string): void => {
    inside += 1;
    insideByKey.set(key, insideOf(key) + 1);
  };

  /** One for all that wait. */
  const watch = openWatch(lookEveryMs, () => {
    const since = performance.now() - room.patienceMs;
    lines.refuse(since, lastTurnAt <= since);
    return lines.waiting > 0;
  });

  const enter = (key: string, bytes: number): Promise<void> | undefined => {
    if (inside >= insideMax) {
      const turn = lines.join(key, bytes);
      if (room.patienceMs < Infinity) watch.begin();
      return turn;
    }
    admit(key);
    return undefined;
  };

  const leave = (key: string): void => {
    inside -= 1;
    const left = insideOf(key) - 1;
    if (left > 0) insideByKey.set(key, left);
    else insideByKey.delete(key);
    const next = lines.giveTurn(insideOf);
    if (next === undefined) return;
    lastTurnAt = performance.now();
    admit(next);
  };

  return {
    get inside() {
      return inside;
    },
    get waiting() {
      return lines.waiting;
    },
    enter,
    leave,
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
