// The process of pusher.ts.
import { openClient } from './client.ts';
import { makeItems, pushBody, suppliersPath } from './items.ts';
import { freshName } from './push.ts';
import type { PusherOrder, PusherReport } from './pusher.ts';

const { PUSHER_GATEWAY = '', PUSHER_TOKEN = '', PUSHER_LANES } = process.env;
const lanes = Number(PUSHER_LANES);
const client = openClient(PUSHER_GATEWAY, PUSHER_TOKEN);
let stopping = new AbortController();
let pushing: Promise<unknown> = Promise.resolve();

const report = (what: PusherReport): void => void process.send?.(what);

async function pushOn({ signal }: AbortController): Promise<void> {
  while (!signal.aborted) {
    await client.post(suppliersPath, pushBody(makeItems(freshName())));
    report('pushed');
  }
}

process.on('message', (order: PusherOrder) => {
  if (order === 'start') {
    stopping = new AbortController();
    pushing = Promise.all(Array.from({ length: lanes }, () => pushOn(stopping)));
    return;
  }
  stopping.abort();
  void pushing.then(() => report('stopped'));
});
