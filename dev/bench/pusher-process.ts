// The process that pusher.ts starts: pushes on the orders of the benchmark.
import { openClient } from './client.ts';
import { makeItems, pushBody, suppliersPath } from './items.ts';
import { freshName } from './push.ts';
import type { PusherOrder } from './pusher.ts';

const [gateway = '', token = '', lanes] = process.argv.slice(2);
const client = openClient(gateway, token);
let stopping = new AbortController();
let pushing: Promise<unknown> = Promise.resolve();
let pushed = 0;

async function pushOn({ signal }: AbortController): Promise<void> {
  while (!signal.aborted) {
    await client.post(suppliersPath, pushBody(makeItems(freshName())));
    pushed += 1;
  }
}

async function obey(order: PusherOrder): Promise<void> {
  if (order === 'start') {
    stopping = new AbortController();
    pushing = Promise.all(Array.from({ length: Number(lanes) }, () => pushOn(stopping)));
  }
  if (order === 'stop') {
    stopping.abort();
    await pushing;
  }
  process.send?.(pushed);
}

process.on('message', ({ order }: { order: PusherOrder }) => void obey(order));
process.on('disconnect', () => process.exit());
process.send?.('ready');
