// Work that is done for many at a time: what comes within a short pause, or while the batch before is worked on, is one
// batch.

export interface BatchQueue<One> {
  add(one: One): void;
  /** Resolves when nothing is under way: what is takes along what came meanwhile. */
  settled(): Promise<void>;
}

export interface BatchQueueOptions<One> {
  /** Of their weights together. One that alone is heavier is a batch of its own. */
  max: number;
  /** 1 unless given. */
  weigh?: (one: One) => number;
  /** Waited for before the first of them. */
  pause: () => Promise<unknown>;
  /** Never fails. */
  work: (batch: readonly One[]) => Promise<void>;
}

export function openBatchQueue<One>({
  max,
  weigh = () => 1,
  pause,
  work,
}: BatchQueueOptions<One>): BatchQueue<One> {
  let waiting: One[] = [];
  let working: Promise<void> | undefined;

  const batchLength = (): number => {
    let [length, weight] = [0, 0];
    for (const one of waiting) {
      weight += weigh(one);
      if (length > 0 && weight > max) break;
      length += 1;
    }
    return length;
  };

  const workOn = async (): Promise<void> => {
    await pause();
    while (waiting.length > 0) {
      const batch = waiting.slice(0, batchLength());
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
