// A caller of another integration that pushes one supplier after the other, while the fuzzer sends requests whose effects only
// the fuzzer's own integration may notice.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Stack } from '../stack/index.ts';

/** The input of the thread that pushes (neighbour-thread.ts). */
export interface Errand {
  gateway: string;
  token: string;
}

export interface Notes {
  /** The time of each push, in milliseconds. */
  times: number[];
  /** The answers that were not 200. */
  refusals: Map<string, number>;
}

export interface Felt {
  /** The times of the neighbour's pushes, in milliseconds. */
  p50: number;
  p99: number;
  pushes: number;
  /** The answers that were not 200. */
  refusals: Map<string, number>;
}

/** Pushes until the signal aborts; resolves with the times of the pushes. */
export async function askAsNeighbour(stack: Stack, end: AbortSignal): Promise<Felt> {
  const errand: Errand = {
    gateway: stack.gateway,
    token: stack.token({ integration: 'fuzz-neighbour' }),
  };
  const thread = new Worker(new URL('neighbour-thread.ts', import.meta.url), { workerData: errand });
  const said = once(thread, 'message');
  const tell = (): void => thread.postMessage('end', []);
  if (end.aborted) tell();
  else end.addEventListener('abort', tell);
  const messages: Notes[] = await said;
  const { times, refusals } = messages[0] ?? { times: [], refusals: new Map<string, number>() };
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? NaN;
  return { p50: at(0.5), p99: at(0.99), pushes: times.length, refusals };
}

export const sayFelt = ({ p50, p99, pushes }: Felt): string =>
  `${pushes} pushes of a neighbour, p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`;

export const refusalsOf = ({ refusals }: Felt, beside: string): string[] =>
  Array.from(refusals, ([said, count]) => `${count} pushes of a neighbour beside ${beside}: ${said}`);
