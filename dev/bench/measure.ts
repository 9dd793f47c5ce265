// Timing things against each other: in turns, so that whatever else the machine does meanwhile hits all alike,
// and by medians.

export interface Contender {
  name: string;
  /** Builds what one turn needs, outside the measured time, and returns what is measured. */
  prepare: (turn: number) => Promise<() => Promise<unknown>> | (() => Promise<unknown>);
}

export interface Figures {
  /** Milliseconds of each turn, sorted. */
  ms: number[];
  medianMs: number;
}

export async function compare(
  contenders: readonly Contender[],
  { turns, warmUp = 2 }: { turns: number; warmUp?: number },
): Promise<Map<string, Figures>> {
  const ms = new Map<string, number[]>(contenders.map(({ name }) => [name, []]));
  for (let turn = 0; turn < turns + warmUp; turn += 1) {
    for (const { name, prepare } of contenders) {
      const run = await prepare(turn);
      const began = performance.now();
      await run();
      const took = performance.now() - began;
      if (turn >= warmUp) ms.get(name)?.push(took);
    }
  }
  return new Map([...ms].map(([name, all]) => [name, figuresOf(all)]));
}

export function figuresOf(all: readonly number[]): Figures {
  const ms = all.toSorted((one, other) => one - other);
  return { ms, medianMs: ms[Math.floor(ms.length / 2)] ?? Number.NaN };
}

/** Runs the same thing in several lanes at once. */
export async function inLanes(
  lanes: number,
  each: number,
  run: (index: number) => Promise<unknown>,
): Promise<void> {
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      for (let nth = 0; nth < each; nth += 1) await run(lane * each + nth);
    }),
  );
}

/** On a clock that all processes of a machine share, finer than a millisecond. */
export const uptimeMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** One line of a report: the ratio first, then what it is made of, then what is asked of it. */
export function reportLine(
  what: string,
  ratio: number,
  detail: string,
  wanted: string,
  holds: boolean,
): string {
  return `${ratio.toFixed(2).padStart(7)}  ${holds ? 'ok  ' : 'MISS'}  ${what}  (${detail}; wanted ${wanted})`;
}
