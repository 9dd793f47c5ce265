// A caller of another integration that pushes one supplier after the other, while the fuzzer sends requests whose effects only
// the fuzzer's own integration may notice. It runs in a thread of its own, so that its times do not include the fuzzer's work.
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import type { Stack } from '../stack/index.ts';

export interface Felt {
  /** The time of each push in milliseconds, the shortest first. */
  times: number[];
  /** The answers that were not 200. */
  refusals: string[];
}

interface Errand {
  gateway: string;
  token: string;
}

const betweenPushesMs = 5;

/** Pushes until the signal aborts; resolves with the times of the pushes. */
export async function askAsNeighbour(stack: Stack, end: AbortSignal): Promise<Felt> {
  const token = stack.token({ integration: 'fuzz-neighbour' });
  const errand: Errand = { gateway: stack.gateway, token };
  const thread = new Worker(new URL(import.meta.url), { workerData: errand });
  const said = once(thread, 'message');
  if (!end.aborted) await once(end, 'abort');
  thread.postMessage('end', []);
  const [felt]: Felt[] = await said;
  return felt ?? { times: [], refusals: [] };
}

export const p99Of = ({ times }: Felt): number => times[Math.floor(0.99 * (times.length - 1))] ?? NaN;

export const sayFelt = (felt: Felt): string =>
  `${felt.times.length} pushes of a neighbour, p99 ${p99Of(felt).toFixed(0)} ms`;

export const refusalsOf = ({ refusals }: Felt, beside: string): string[] =>
  refusals.map((said) => `a push of a neighbour beside ${beside}: ${said}`);

async function pushUntilTold({ gateway, token }: Errand): Promise<Felt> {
  const felt: Felt = { times: [], refusals: [] };
  const end = new AbortController();
  parentPort?.once('message', () => end.abort());
  for (let nth = 0; !end.signal.aborted; nth += 1) {
    const startedAt = performance.now();
    const answer = await fetch(`${gateway}/api/v1/integration/suppliers`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ suppliers: [{ externalId: `S-${nth % 50}`, name: 'Neighbour' }] }),
    });
    const text = await answer.text();
    felt.times.push(performance.now() - startedAt);
    if (answer.status !== 200) felt.refusals.push(`${answer.status} ${text.slice(0, 200)}`);
    await wait(betweenPushesMs);
  }
  felt.times.sort((one, other) => one - other);
  return felt;
}

if (!isMainThread) parentPort?.postMessage(await pushUntilTold(workerData), []);
