// npm start -- --watch: which services are restarted when files change.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { reloadOnChange } from '../../dev/stack/reload.ts';
import { useFolder } from '../support/use-folder.ts';

const services = ['gateway', 'catalog', 'batches', 'webhooks'];
const folder = useFolder();
let root: string;
let restarted: string[];
let said: string[];
let reloading: Disposable;
let refuse: Error | undefined;

beforeEach(async () => {
  root = folder.path;
  for (const name of services) await mkdir(join(root, 'services', name, 'src/rooms'), { recursive: true });
  await mkdir(join(root, 'shared/sync/src/pushing'), { recursive: true });
  await mkdir(join(root, 'console/src/views'), { recursive: true });
  [restarted, said, refuse] = [[], [], undefined];
  reloading = reloadOnChange({
    root,
    async restart(service) {
      restarted.push(service);
      if (refuse !== undefined) throw refuse;
    },
    say: (line) => said.push(line),
  });
});
afterEach(() => reloading[Symbol.dispose]());

it('npm start --watch restarts the service whose sources changed, once for several files', async () => {
  const src = join(root, 'services/catalog/src');
  await Promise.all(['a.ts', 'b.ts', 'rooms/c.ts'].map((name) => writeFile(join(src, name), '')));
  await expect.poll(() => said.at(-1)).toBe('Restarted catalog.');
  expect(restarted).toEqual(['catalog']);
});

it('npm start --watch restarts all services when shared sources changed', async () => {
  await writeFile(join(root, 'shared/sync/src/pushing/push.ts'), '');
  await expect.poll(() => restarted.toSorted()).toEqual(services.toSorted());
});

it('npm start --watch restarts no service for a file that is no source', async () => {
  await writeFile(join(root, 'services/catalog/src/notes.txt'), '');
  await writeFile(join(root, 'services/batches/src/a.ts'), '');
  await expect.poll(() => said.at(-1)).toBe('Restarted batches.');
  expect(restarted).toEqual(['batches']);
});

it('npm start --watch starts a service again at the next change after its start failed', async () => {
  refuse = new Error('it ended before it was ready');
  await writeFile(join(root, 'services/webhooks/src/a.ts'), '');
  await expect.poll(() => said.at(-1)).toBe('webhooks does not start: it ended before it was ready');
  refuse = undefined;
  await writeFile(join(root, 'services/webhooks/src/a.ts'), 'again');
  await expect.poll(() => said.at(-1)).toBe('Restarted webhooks.');
});

it.each(['views/runs.tsx', 'style.css', 'index.html'])(
  'npm start --watch restarts the gateway when %s of the console changed',
  async (file) => {
    await writeFile(join(root, 'console/src', file), '');
    await expect.poll(() => said.at(-1)).toBe('Restarted gateway.');
    expect(restarted).toEqual(['gateway']);
  },
);
