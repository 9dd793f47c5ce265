import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { PushOutcome } from '@integration-sync/client';
import { expect, it } from 'vitest';
import { openDistance } from '../../../dev/bench/distance.ts';
import { Lanes } from '../../../loader/src/core/sending/lanes.ts';
import { PushQueue } from '../../../loader/src/core/sending/push-queue.ts';
import { itemsMax, slotOf } from '../../../loader/src/core/sending/slots.ts';

// Setup: a service that works on four pushes at a time, 25 ms each, behind a proxy that is 5 or 50 ms away.
// What this proves: a load takes no longer there than with the best fixed number of pushes in flight. With eight, 50 ms away, it
// would take one and a half times as long. The pushes are empty: the rows of a file cost processor time, here only time counts.

const workers = 4;
const workMs = 25;
const pushes = 400;

interface Service extends AsyncDisposable {
  url: string;
}

async function openService(): Promise<Service> {
  const turns: (() => void)[] = [];
  let free = workers;
  const serve = async (response: ServerResponse): Promise<void> => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => turns.push(resolve));
    await wait(workMs);
    const next = turns.shift();
    if (next === undefined) free += 1;
    else next();
    response.end('{}');
  };
  const server = createServer((_request, response) => void serve(response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the service has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** How long a load takes into a service of its own that is so far away. */
async function load(awayMs: number, lanes: Pick<Lanes, 'count' | 'answered' | 'refused'>): Promise<number> {
  await using service = await openService();
  await using distance = await openDistance(service.url, awayMs);
  const queue = new PushQueue({
    lanes,
    send: async () =>
      (await (await fetch(distance.url, { method: 'POST', body: '{}' })).json()) as PushOutcome,
    answered: () => undefined,
  });
  const began = performance.now();
  for (let sent = 0; sent < pushes; sent += 1) {
    while (queue.isFull) await queue.next();
    for (let row = 0; row < itemsMax; row += 1) queue.add(slotOf({ number: row, made: {}, raw: '' }));
  }
  await queue.drain();
  return performance.now() - began;
}

/** Enough to keep the service busy, which then takes 160 pushes a second. */
const best = { count: 32, answered: () => undefined, refused: () => undefined };

it.each([5, 50])(
  'a load %i ms away takes as long as with the best fixed number in flight',
  async (awayMs) => {
    const lanes = new Lanes(64);
    const [tookMs, bestMs] = await Promise.all([load(awayMs, lanes), load(awayMs, best)]);
    expect(bestMs / tookMs).toBeGreaterThanOrEqual(0.9);
    // Those that work and are on the way, and few that wait.
    expect(lanes.count).toBeLessThanOrEqual(28);
  },
);
