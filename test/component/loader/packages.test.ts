import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { temporaryFolder, type TemporaryFolder } from '../../support/folder.ts';
import { installPackages } from '@integration-sync/dev/pack';

// The tarballs, in a folder that was empty. They run under the Node of the tests and under that of the machine, which may be older.

const root = resolve(import.meta.dirname, '../../..');
const run = promisify(execFile);
const nodes = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'node'))
  .filter((path) => !path.includes('node_modules') && existsSync(path))
  .slice(0, 1);
let folder: TemporaryFolder;
let place: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  place = await installPackages(folder.path);
});
afterAll(() => folder[Symbol.asyncDispose]());

it('the client and the loader install five third-party packages', async () => {
  expect((await readdir(join(place, 'node_modules'))).filter((name) => !name.startsWith('.'))).toEqual([
    '@integration-sync',
    '@modelcontextprotocol',
    'iconv-lite',
    'integration-sync',
    'safer-buffer',
    'zod',
  ]);
});

it.each([process.execPath, ...nodes])('the client and the loader run under %s', async (node) => {
  const script = `import { openClient } from '@integration-sync/client'; console.log(typeof openClient)`;
  const imported = await run(node, ['--input-type=module', '-e', script], { cwd: place });
  expect(imported.stdout).toBe('function\n');
  const main = join(place, 'node_modules/integration-sync/dist/main.js');
  const workbook = join(import.meta.dirname, 'workbooks/xlsxwriter.xlsx');
  const sample = await run(node, [main, 'load', '--sample', workbook, '--kind', 'batches']);
  const columns = { externalId: 'externalId', quantity: 'quantity', receivedDate: 'receivedDate' };
  expect(JSON.parse(sample.stdout)).toMatchObject({ 'xlsxwriter.xlsx#Batches': { columns } });
  const agent = execFile(node, [main, 'mcp', '--url', 'http://127.0.0.1:1'], {
    env: { ...process.env, INTEGRATION_SYNC_KEY: 'isk_key' },
  });
  agent.stdin?.write('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n');
  const [line] = (await once(agent.stdout ?? agent, 'data')) as [string];
  expect(line).toContain('"name":"find_records"');
  agent.stdin?.end();
  expect(await once(agent, 'exit')).toEqual([0, null]);
});

it('the declarations of the client reject a wrong field, a wrong kind and a wrong use of an event', async () => {
  for (const name of ['@types/node', 'undici-types']) {
    const link = join(place, 'node_modules', name);
    await mkdir(dirname(link), { recursive: true });
    await rm(link, { force: true });
    await symlink(join(root, 'node_modules', name), link);
  }
  await writeFile(
    join(place, 'use.mts'),
    `import { openClient, verifyWebhook } from '@integration-sync/client';
const client = openClient({ baseUrl: 'http://127.0.0.1', key: 'isk_' });
await client.push('suppliers', [{ externalId: 'S-1', name: 'One' }]);
await client.push('suppliers', [{ externalId: 'S-1', name: 'One', contry: 'SE' }]);
await client.push('batches', [{ externalId: 'B-1', name: 'One' }]);
await client.push('vendors', []);
const event = await verifyWebhook({ secret: '', headers: {}, body: '' });
if (event.event === 'supplier.updated') event.data.changedFields.join();
if (event.event === 'supplier.created') event.data.changedFields.join();
openClient({ baseUrl: 'http://127.0.0.1' });
`,
  );
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const options = [
    '--noEmit',
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'es2022',
    '--types',
    'node',
    '--checkers',
    '1',
  ];
  const compiled = run(process.execPath, [compiler, ...options, 'use.mts'], { cwd: place });
  const { stdout } = (await compiled.then(
    () => ({ stdout: '' }),
    (error: unknown) => error,
  )) as { stdout: string };
  const lines = [...stdout.matchAll(/^use\.mts\((\d+),/gm)].map(([, line]) => Number(line));
  expect(lines).toEqual([4, 5, 6, 9, 10]);
});
