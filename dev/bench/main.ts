// npm run bench [-- push …]: how the service compares with bare scripts on the same engine. Brings up a stack of
// its own, in a temporary folder, and leaves nothing behind.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLog } from '@integration-sync/runtime/log';
import { openStore } from '@integration-sync/runtime/store';
import { startStack } from '../stack/index.ts';
import { openBare } from './bare.ts';
import { openClient } from './client.ts';
import { benchPushes } from './push.ts';

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const wanted = new Set(process.argv.slice(2));
const wants = (name: string): boolean => wanted.size === 0 || wanted.has(name);

await using ending = new AsyncDisposableStack();
const folder = ending.adopt(await mkdtemp(join(tmpdir(), 'integration-sync-bench-')), (path) =>
  rm(path, { recursive: true, force: true }),
);
const stack = ending.use(
  await startStack({
    folder,
    temporary: true,
    say,
    environment: { ...process.env, GATEWAY_PORT: '0', LOG_LEVEL: process.env['LOG_LEVEL'] ?? 'info' },
  }),
);
const log = openLog({ service: 'bench', level: 'warn' });
const store = ending.use(await openStore({ url: stack.mongodb, database: 'bench', log }));
const client = ending.use(openClient(stack.gateway, stack.token({ integration: 'bench' })));

if (wants('push')) await benchPushes(stack, client, await openBare(store), say);
