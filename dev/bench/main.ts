// npm run bench [-- push gateway events listings] [--sizes 1000,100000,1000000]
// How the service compares with bare scripts on the same engine. Brings up a stack of its own, in a temporary
// folder, and leaves nothing behind. The machine should have nothing else to do.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openLog } from '@integration-sync/runtime/log';
import { openStore } from '@integration-sync/runtime/store';
import { startStack } from '../stack/index.ts';
import { openBare } from './bare.ts';
import { openClient } from './client.ts';
import { benchEvents } from './events.ts';
import { benchGateway } from './gateway.ts';
import { benchListings, sizesDefault } from './listings.ts';
import { benchPushes } from './push.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { sizes: { type: 'string', default: sizesDefault.join() } },
});
const sizes = values.sizes.split(',').map(Number);
const wants = (name: string): boolean => positionals.length === 0 || positionals.includes(name);
const say = (line: string): void => void process.stdout.write(`${line}\n`);

await using ending = new AsyncDisposableStack();
const folder = ending.adopt(await mkdtemp(join(tmpdir(), 'integration-sync-bench-')), (path) =>
  rm(path, { recursive: true, force: true }),
);
const environment = { ...process.env, GATEWAY_PORT: '0' };
const stack = ending.use(await startStack({ folder, temporary: true, say, environment }));
const log = openLog({ service: 'bench', level: 'warn' });

const client = ending.use(openClient(stack.gateway, stack.token({ integration: 'bench' })));

if (wants('push')) {
  const store = ending.use(await openStore({ url: stack.mongodb, database: 'bench', log }));
  await benchPushes(stack, client, await openBare(store), say);
}
if (wants('gateway')) await benchGateway(stack, client, say);
if (wants('events')) await benchEvents(stack, say);
if (wants('listings')) await benchListings(stack, sizes, say);
