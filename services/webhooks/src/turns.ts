// A bound on how much of one kind of work is under way at once. The rest waits, first come first served.
//
// While few wait, one is under way at a time: the engines are shared with deliveries to healthy endpoints, and what
// becomes of fifty dead ones is not urgent. Where many wait, several are under way, so that a thousand that die
// together are dealt with before their next attempts are due.

export type Turns = <T>(work: () => Promise<T>) => Promise<T>;

export interface TurnLimits {
  max: number;
  /** As many again must wait for one more to be under way. */
  waitingEach: number;
}

export function openTurns({ max, waitingEach }: TurnLimits): Turns {
  const waiting: (() => void)[] = [];
  let underWay = 0;

  const admit = (): void => {
    while (underWay < Math.min(max, Math.ceil(waiting.length / waitingEach))) {
      underWay += 1;
      waiting.shift()?.();
    }
  };

  return async (work) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.push(resolve);
    admit();
    await promise;
    try {
      return await work();
    } finally {
      underWay -= 1;
      admit();
    }
  };
}

/** For what is done about failing endpoints. */
export const failureTurns: TurnLimits = { max: 4, waitingEach: 64 };
