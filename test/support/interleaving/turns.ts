// Turns of the event loop: whether work waits for one, so that a world knows when its replicas wait for time, MongoDB, NATS or the receiver
// alone. A fixed number of turns would be too few for one chain of work, and cost most of the time of all others.

export interface Turns extends Disposable {
  /** Resolves once nothing waits for a turn of the event loop. */
  ended: () => Promise<void>;
}

/** Counts what waits for a turn, until disposal. */
export function openTurns(): Turns {
  const { setImmediate: begin, clearImmediate: end } = globalThis;
  const waiting = new Set<NodeJS.Immediate>();
  const counted = (work: (...args: unknown[]) => void, ...args: unknown[]): NodeJS.Immediate => {
    const immediate = begin(() => {
      waiting.delete(immediate);
      work(...args);
    });
    waiting.add(immediate);
    return immediate;
  };
  const ended = (immediate: NodeJS.Immediate | undefined): void => {
    if (immediate !== undefined) waiting.delete(immediate);
    end(immediate);
  };
  Object.assign(globalThis, { setImmediate: counted, clearImmediate: ended });
  return {
    async ended() {
      do await new Promise((resolve) => begin(resolve));
      while (waiting.size > 0);
    },
    [Symbol.dispose]() {
      Object.assign(globalThis, { setImmediate: begin, clearImmediate: end });
    },
  };
}
