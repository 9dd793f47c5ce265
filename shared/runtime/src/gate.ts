// Lets a bounded amount of work be done at once; the rest waits for its turn, in the order in which it came.
export interface Gate {
  /** How many are inside now. */
  readonly inside: number;
  readonly waiting: number;
  pass<T>(work: () => Promise<T>): Promise<T>;
}

export function openGate(insideMax: number): Gate {
  const waiting: (() => void)[] = [];
  let inside = 0;

  const enter = (): Promise<void> => {
    if (inside < insideMax) {
      inside += 1;
      return Promise.resolve();
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.push(resolve);
    return promise;
  };
  /** Whoever leaves hands its place to the next. */
  const leave = (): void => {
    const next = waiting.shift();
    if (next === undefined) inside -= 1;
    else next();
  };

  return {
    get inside() {
      return inside;
    },
    get waiting() {
      return waiting.length;
    },
    async pass(work) {
      await enter();
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}
