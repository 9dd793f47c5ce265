// A bound on how much of one kind of work is under way at once. The rest waits, first come first served.
//
// With some patience, one is under way at a time until somebody has waited for so long; then up to the bound are.
// The engines, which deliveries to healthy endpoints need as well, are hardly troubled then by what becomes of
// fifty endpoints that die together, and a thousand that do are dealt with all the same.

/** Begins with the work when its turn comes, and never before it has returned. */
export type Turns = <T>(work: () => Promise<T>) => Promise<T>;

export interface TurnLimits {
  max: number;
  patienceMs?: number;
}

interface Waiting {
  since: number;
  begin(): void;
}

export function openTurns({ max, patienceMs = 0 }: TurnLimits): Turns {
  const waiting: Waiting[] = [];
  let underWay = 0;

  const mayBegin = ({ since }: Waiting): boolean =>
    underWay === 0 || (underWay < max && performance.now() - since >= patienceMs);

  const admit = (): void => {
    for (let [first] = waiting; first !== undefined && mayBegin(first); [first] = waiting) {
      waiting.shift();
      underWay += 1;
      first.begin();
    }
  };

  return async (work) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.push({ since: performance.now(), begin: resolve });
    admit();
    // A millisecond more, as timers count whole ones.
    const timer = setTimeout(admit, patienceMs + 1);
    await promise;
    clearTimeout(timer);
    try {
      return await work();
    } finally {
      underWay -= 1;
      admit();
    }
  };
}
