// Work that is done for many at a time: what comes within a short pause, or while the batch before is worked on, is one
// batch.

export interface BatchQueue<One> {
  add(one: One): void;
  /** Resolves when nothing is under way: what is takes along what came meanwhile. */
  settled(): Promise<void>;
}

export interface BatchQueueOptions<One> {
  max: number;
  /** Waited for before the first of them. */
  pause: () => Promise<unknown>;
  /** Never fails. */
  work: (batch: readonly One[]) => Promise<void>;
}

export function openBatchQueue<One>({ max, pause, work }: BatchQueueOptions<One>): BatchQueue<One> {
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
