import { execFile, execFileSync } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { pack } from '@integration-sync/dev/pack';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { temporaryFolder, type TemporaryFolder } from '../../support/folder.ts';

// The tarballs, unpacked as npm unpacks them. What they need of other packages is that of this repository.

const root = resolve(import.meta.dirname, '../../..');
const run = promisify(execFile);
let folder: TemporaryFolder;

beforeAll(async () => {
  folder = await temporaryFolder();
  const tarballs = await pack(join(folder.path, 'packed'));
  for (const [index, name] of ['@integration-sync/client', 'integration-sync'].entries()) {
    const place = join(folder.path, 'node_modules', name);
    await mkdir(place, { recursive: true });
    execFileSync('tar', ['-xzf', tarballs[index] ?? '', '-C', place, '--strip-components', '1']);
  }
  for (const name of ['iconv-lite', '@types/node', 'undici-types', 'safer-buffer']) {
    const place = join(folder.path, 'node_modules', name);
    await mkdir(dirname(place), { recursive: true });
    await symlink(join(root, 'node_modules', name), place);
  }
});
afterAll(() => folder[Symbol.asyncDispose]());

it('run as programs of Node, below node_modules', async () => {
  const main = join(folder.path, 'node_modules/integration-sync/dist/main.js');
  const { stdout } = await run(process.execPath, [main, '--help']);
  expect(stdout).toContain('Usage: integration-sync COMMAND');
  const script = `import { openClient } from '@integration-sync/client'; console.log(typeof openClient)`;
  const imported = await run(process.execPath, ['--input-type=module', '-e', script], { cwd: folder.path });
  expect(imported.stdout).toBe('function\n');
});

it('have declarations, which refuse a wrong field, a wrong kind and a wrong use of an event', async () => {
  await writeFile(join(folder.path, 'package.json'), '{"type":"module"}');
  await writeFile(
    join(folder.path, 'use.ts'),
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
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--types', 'node'];
  const compiled = run(process.execPath, [compiler, ...options, 'use.ts'], { cwd: folder.path });
  const { stdout } = (await compiled.then(
    () => ({ stdout: '' }),
    (error: unknown) => error,
  )) as { stdout: string };
  const lines = [...stdout.matchAll(/^use\.ts\((\d+),/gm)].map(([, line]) => Number(line));
  expect(lines).toEqual([4, 5, 6, 9, 10]);
});
