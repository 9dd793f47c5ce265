// A caller of another integration that pushes one supplier after the other, while the fuzzer does something to the stack
// that only its own integration may feel.
import { setTimeout as wait } from 'node:timers/promises';
import type { Stack } from '../stack/index.ts';

export interface Felt {
  /** Of the neighbour's pushes, in milliseconds. */
  p50: number;
  p99: number;
  pushes: number;
  /** The answers that were not 200. */
  refusals: Map<string, number>;
}

const betweenPushesMs = 5;

/** Pushes until the signal, or for so long. */
export async function askAsNeighbour(stack: Stack, end: AbortSignal): Promise<Felt> {
  const headers = {
    authorization: `Bearer ${stack.token({ integration: 'fuzz-neighbour' })}`,
    'content-type': 'application/json',
  };
  const times: number[] = [];
  const refusals = new Map<string, number>();
  while (!end.aborted) {
    const startedAt = performance.now();
    const body = JSON.stringify({ suppliers: [{ externalId: `S-${times.length % 50}`, name: 'Neighbour' }] });
    const answer = await fetch(`${stack.gateway}/api/v1/integration/suppliers`, {
      method: 'POST',
      headers,
      body,
    });
    const text = await answer.text();
    times.push(performance.now() - startedAt);
    if (answer.status !== 200) {
      const said = `${answer.status} ${text.slice(0, 200)}`;
      refusals.set(said, (refusals.get(said) ?? 0) + 1);
    }
    await wait(betweenPushesMs);
  }
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? NaN;
  return { p50: at(0.5), p99: at(0.99), pushes: times.length, refusals };
}

export const sayFelt = ({ p50, p99, pushes }: Felt): string =>
  `${pushes} pushes of a neighbour, p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`;

export const refusalsOf = ({ refusals }: Felt, beside: string): string[] =>
  Array.from(refusals, ([said, count]) => `${count} pushes of a neighbour beside ${beside}: ${said}`);
