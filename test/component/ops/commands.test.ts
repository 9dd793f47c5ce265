// What all operators' commands have in common: how they are called, how they end, what they may and what they say.
import { randomUUID } from 'node:crypto';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, readFile, symlink } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { parseClients } from '@integration-sync/gateway/operating';
import { expect, inject, test } from 'vitest';
import { openKey } from '../../../dev/stack/key.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { runOps, startOps } from '../../support/ops.ts';
import { startNats, startNatsAs } from '../../support/nats.ts';
import { startNatsWithUsers } from '../../support/nats-users.ts';
import { listen } from '../../support/servers.ts';
import { openSystemWithUsers } from '../../support/users-system.ts';

const root = resolve(import.meta.dirname, '../../..');
const nowhere = {
  NATS_URL: 'nats://ops:hidden-password@127.0.0.1:9',
  MONGODB_URL: 'mongodb://ops:hidden-password@127.0.0.1:9',
};

test.each([
  [[], 'Usage: ops COMMAND'],
  [['--help'], 'Exit codes:'],
  [['streams', '--help'], 'ops streams --apply'],
  [['reseal', '-h'], 'ops reseal --check && echo'],
  [['purge-integration', '--help'], 'ops purge-integration acme --apply'],
])('the command %j prints its usage', async (args, words) => {
  const ended = await runOps(args, {});
  expect(ended.stdout).toContain(words);
  expect(ended.code).toBe(args.length === 0 ? 2 : 0);
});

test.each([
  [['stream'], 'There is no command "stream".'],
  [['streams', '--aply'], "Unknown option '--aply'"],
  [['reseal', '--apply', '--check'], 'give one of them'],
  [['reseal'], 'WEBHOOK_SECRET_KEY: expected `id:key`'],
  [['purge-integration'], 'Name one integration.'],
  [['purge-integration', 'a.b'], '"a.b" is no name of an integration'],
  [['purge-integration', 'acme', 'other'], 'Name one integration.'],
])('the command %j ends with exit code 2 and names the mistake', async (args, words) => {
  const ended = await runOps(args, nowhere);
  expect(ended).toMatchObject({ code: 2, stdout: '' });
  expect(ended.stderr).toContain(words);
});

test.each([
  [['streams'], 'NATS_URL: NATS does not let this command in'],
  [['purge-integration', 'acme'], 'MONGODB_URL: MongoDB does not answer'],
])(
  'the command %j ends where an engine is away, and names the engine without its password',
  async (args, words) => {
    const ended = await startOps(args, nowhere).ended;
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr).toContain(words);
    expect(ended.stderr).toContain('within 10 s');
    expect(ended.stderr).not.toContain('hidden-password');
  },
  40_000,
);

const expectWell = (ended: { code: number | null; stderr: string }) =>
  expect(ended).toMatchObject({ code: 0, stderr: expect.not.stringMatching(/permission/i) });

test('with the login ops of deploy/nats/nats.conf every command works without a permission error', async () => {
  await using system = await openSystemWithUsers(inject('engines').mongodb);
  const environment = system.environmentOf('ops');
  const integration = `ops-${randomUUID()}`;
  const url = 'http://127.0.0.1:9/hook';
  await system.call(integration, 'POST', '/webhook-events', { url, events: ['supplier.created'] });

  await using operator = await system.nats.connectAs('operator');
  await operator.nats.request('$JS.API.STREAM.DELETE.EVENT_BATCHES');
  expectWell(await runOps(['streams', '--apply'], environment));
  expectWell(await runOps(['reseal', '--apply'], environment));
  expectWell(await runOps(['purge-integration', integration], environment));
  expectWell(await runOps(['purge-integration', integration, '--apply'], environment));
  expectWell(await runOps(['streams', '--apply', '--check'], environment));
  // A replica of webhooks asks once whether it may make the stream that is gone.
  expect(system.refusals().filter((words) => !words.includes('STREAM.CREATE.'))).toEqual([]);
}, 180_000);

test('with the login ops, ops streams creates all streams where no service runs, and ops reader a consumer since a time', async () => {
  await using nats = await startNatsWithUsers();
  const environment = { NATS_URL: nats.urlOf('ops') };
  expectWell(await runOps(['streams', '--apply', '--check'], environment));
  const reader = ['reader', 'reader', '--since', '2026-01-01', '--apply'];
  expectWell(await runOps(reader, environment));
  await using catalog = await nats.connectAs('catalog');
  await catalog.nats.request('events.acme.supplier.created', '{}');
  expect(await runOps(reader, environment)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('no event from then any more: the consumer begins with the oldest, 1.'),
  });
});

test.each([
  [['streams'], '$JS.API.STREAM.LIST'],
  [['reader', 'billing', '--apply'], '$JS.API.CONSUMER.INFO.EVENTS.billing'],
])('the command %j names what the login of a service lacks', async (args, subject) => {
  await using nats = await startNatsWithUsers();
  expectWell(await runOps(['streams', '--apply'], { NATS_URL: nats.urlOf('ops') }));
  const ended = await runOps(args, { NATS_URL: nats.urlOf('catalog') });
  expect(ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(subject) });
  expect(ended.stderr).toContain('the user "ops"');
});

test('ops streams says that a NATS may have no JetStream', async () => {
  await using nats = await startNatsAs(['max_payload: 1MB']);
  const ended = await runOps(['streams'], { NATS_URL: nats.url });
  expect(ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('has no JetStream') });
});

test('ops streams succeeds although the reader of its output has closed both pipes', async () => {
  await using nats = await startNats();
  const child = spawn(process.execPath, [inject('programs').ops, 'streams', '--apply'], {
    env: { ...process.env, NATS_URL: nats.url, LOG_LEVEL: 'info' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.destroy();
  child.stderr.destroy();
  expect(await once(child, 'close')).toEqual([0, null]);
});

test('the program ops runs under its name in the image', async () => {
  await using folder = await temporaryFolder();
  await symlink(inject('programs').ops, `${folder.path}/ops`);
  const { stdout } = await promisify(execFile)(process.execPath, ['ops', 'streams', '--help'], {
    cwd: folder.path,
  });
  expect(stdout).toContain('Usage: ops streams');
});

test('npm run ops names what it needs where no stack runs', async () => {
  const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'ops', '--', '--help'], {
    cwd: root,
  });
  expect(stdout).toContain('Usage: ops COMMAND');
});

test('a signal that ends npm run ops ends its command', async () => {
  const silent = createServer((socket) => void socket.resume());
  await using nats = await listen(silent);
  const child = spawn(process.execPath, [join(root, 'dev/ops.ts'), 'streams'], {
    env: { ...process.env, NATS_URL: `nats://127.0.0.1:${nats.port}` },
    stdio: 'ignore',
  });
  const [socket] = (await once(silent, 'connection')) as [Socket];
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([null, 'SIGTERM']);
  // By itself, the command gives up after 10 s.
  if (!socket.closed) await once(socket, 'close', { signal: AbortSignal.timeout(5_000) });
});

test('npm run client adds a client before the first npm start, which shows its own key', async () => {
  await using folder = await temporaryFolder();
  for (const name of ['node_modules', 'services']) await symlink(join(root, name), join(folder.path, name));
  await cp(join(root, 'dev'), join(folder.path, 'dev'), { recursive: true });
  const add = ['dev/ops.ts', 'client', 'add', 'erp', '--integration', 'acme'];
  const { stdout } = await promisify(execFile)(process.execPath, add, { cwd: folder.path });
  expect(stdout).toMatch(/^isk_/);
  const { clientsFile, key } = openKey(join(folder.path, '.local'), {});
  expect(key).toMatch(/^isk_/);
  expect(parseClients(await readFile(clientsFile)).map(({ id }) => id)).toEqual(['acme', 'erp']);
});
