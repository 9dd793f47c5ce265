// Compares the times of several contenders in turns, so that other work of the machine slows all alike, and by medians.
import { setTimeout as wait } from 'node:timers/promises';
import { addSpent, beginMeasuring, nothingSpent, type Processes, type Spent } from './cpu.ts';

export interface Contender {
  name: string;
  /** Builds the input of one turn, which is not measured, and returns the function that is measured. */
  prepare: (turn: number) => Promise<() => Promise<unknown>> | (() => Promise<unknown>);
}

export interface Figures {
  /** Milliseconds of each turn, sorted. */
  ms: number[];
  medianMs: number;
}

export interface CompareOptions {
  turns: number;
  warmUp?: number;
  processes: () => Processes;
  /** How long processor time is still counted after the last answer, for work such as publishing. */
  settleMs?: number;
}

export interface Compared extends Figures {
  /** The processor time of all turns together. */
  spent: Spent;
}

export async function compare(
  contenders: readonly Contender[],
  { turns, warmUp = 2, processes, settleMs = 0 }: CompareOptions,
): Promise<Map<string, Compared>> {
  const all = new Map(contenders.map(({ name }) => [name, { ms: [] as number[], spent: nothingSpent() }]));
  for (let turn = 0; turn < turns + warmUp; turn += 1) {
    for (const { name, prepare } of contenders) {
      const run = await prepare(turn);
      const { tookMs, spent } = await measured(run, processes(), settleMs);
      if (turn < warmUp) continue;
      const kept = all.get(name);
      kept?.ms.push(tookMs);
      if (kept !== undefined) addSpent(kept.spent, spent);
    }
  }
  return new Map([...all].map(([name, { ms, spent }]) => [name, { ...figuresOf(ms), spent }]));
}

/** The time until `run` ended, and the processor time until `settleMs` after it. */
export async function measured(
  run: () => Promise<unknown>,
  processes: Processes,
  settleMs = 0,
): Promise<{ tookMs: number; spent: Spent }> {
  const end = beginMeasuring(processes);
  const began = performance.now();
  await run();
  const tookMs = performance.now() - began;
  if (settleMs > 0) await wait(settleMs);
  return { tookMs, spent: end() };
}

export function figuresOf(all: readonly number[]): Figures {
  const ms = all.toSorted((one, other) => one - other);
  return { ms, medianMs: ms[Math.floor(ms.length / 2)] ?? Number.NaN };
}

export const medianOf = (all: readonly number[]): number => figuresOf(all).medianMs;

export const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;

/** The median and the 99th percentile of times, in words. */
export function inMs(all: readonly number[]): string {
  const { ms } = figuresOf(all);
  return [0.5, 0.99].map((share) => `p${share * 100} ${quantile(ms, share).toFixed(1)} ms`).join(', ');
}

/** Calls `run` in several lanes concurrently, `each` times in every lane. */
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

/** The time on a clock that all processes of a machine share, finer than a millisecond. */
export const uptimeMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** The limit of a figure: it must be at most, or at least, this number. */
type Bound = readonly ['≤' | '≥', number];

/** One line of a report: the figure, whether it is within its limit, and how it was computed. */
export function reportLine(what: string, figure: number, detail: string, [sign, wanted]: Bound): string {
  const verdict = (sign === '≤' ? figure <= wanted : figure >= wanted) ? 'ok  ' : 'MISS';
  return `${figure.toFixed(2).padStart(7)}  ${verdict}  ${what}  (${detail}; wanted ${sign} ${wanted})`;
}
