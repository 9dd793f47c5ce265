// Works on what waits: begun in the order in which it came, some at a time.

export interface Lanes<One> {
  add(one: One): void;
}

export interface LanesOptions<One> {
  lanesMax: number;
  /** Never rejects. */
  work: (one: One) => Promise<void>;
  /** Is given each lane that begins, and waits for it at the end. */
  follow: (lane: Promise<void>) => void;
}

export function openLanes<One>({ lanesMax, work, follow }: LanesOptions<One>): Lanes<One> {
  const waiting: One[] = [];
  let busy = 0;

  const workOff = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await work(next);
    busy -= 1;
  };

  return {
    add(one) {
      waiting.push(one);
      if (busy === lanesMax) return;
      busy += 1;
      follow(workOff());
    },
  };
}
