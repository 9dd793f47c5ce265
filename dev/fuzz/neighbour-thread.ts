// The neighbour, in a thread of its own, so that the work of the fuzzer does not delay its pushes. It pushes one supplier after
// the other until the fuzzer ends it, and then reports how long each push took.
import { setTimeout as wait } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { Errand, Notes } from './neighbour.ts';

const betweenPushesMs = 5;
const { gateway, token }: Errand = workerData;
const notes: Notes = { times: [], refusals: new Map() };
const end = new AbortController();
parentPort?.once('message', () => end.abort());

while (!end.signal.aborted) {
  const startedAt = performance.now();
  const externalId = `S-${notes.times.length % 50}`;
  const answer = await fetch(`${gateway}/api/v1/integration/suppliers`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ suppliers: [{ externalId, name: 'Neighbour' }] }),
  });
  const text = await answer.text();
  notes.times.push(performance.now() - startedAt);
  if (answer.status !== 200) {
    const said = `${answer.status} ${text.slice(0, 200)}`;
    notes.refusals.set(said, (notes.refusals.get(said) ?? 0) + 1);
  }
  await wait(betweenPushesMs);
}
parentPort?.postMessage(notes, []);
