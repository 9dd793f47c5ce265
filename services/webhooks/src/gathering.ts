// Work that is done for many at a time: whatever comes within a short pause, or while the ones before are worked on,
// is taken together.

export interface Gathering<One> {
  add(one: One): void;
  /** Resolves when nothing is under way: what is takes along what came meanwhile. */
  settled(): Promise<void>;
}

export interface GatheringOptions<One> {
  max: number;
  /** Waited for before the first of them. */
  pause: () => Promise<unknown>;
  /** Never fails. */
  work: (batch: readonly One[]) => Promise<void>;
}

export function openGathering<One>({ max, pause, work }: GatheringOptions<One>): Gathering<One> {
  let waiting: One[] = [];
  let working: Promise<void> | undefined;

  const workOn = async (): Promise<void> => {
    await pause();
    while (waiting.length > 0) {
      const batch = waiting.slice(0, max);
      waiting = waiting.slice(batch.length);
      await work(batch);
    }
    // In the same breath as the last look, or what comes in between would wait for the next.
    working = undefined;
  };

  return {
    add(one) {
      waiting.push(one);
      working ??= workOn();
    },
    async settled() {
      await working;
    },
  };
}
