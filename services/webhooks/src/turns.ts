// A bound on how much of one kind of work is under way at once. The rest waits, first come first served.

export type Turns = <T>(work: () => Promise<T>) => Promise<T>;

export function openTurns(max: number): Turns {
  const waiting: (() => void)[] = [];
  let underWay = 0;
  return async (work) => {
    if (underWay >= max) await new Promise<void>((resolve) => waiting.push(resolve));
    else underWay += 1;
    try {
      return await work();
    } finally {
      // The place goes on to the next, or is free.
      const next = waiting.shift();
      if (next === undefined) underWay -= 1;
      else next();
    }
  };
}
