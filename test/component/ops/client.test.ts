// ops client against a file: what it writes, what a gateway makes of it, and what it refuses.
import { chmod, chown, mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { hashOf, parseClients, type Client } from '@integration-sync/gateway/operating';
import { expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { openReadyGateway, openServices } from '../../support/gateway.ts';
import { startNats } from '../../support/nats.ts';
import { runOps, startOps, type Ended } from '../../support/ops.ts';

const dayMs = 86_400_000;

async function openFile() {
  const folder = await temporaryFolder();
  const path = join(folder.path, 'clients.json');
  return {
    path,
    run: (...args: string[]): Promise<Ended> => runOps(['client', ...args], { AUTH_CLIENTS_FILE: path }),
    read: async (): Promise<Client[]> => parseClients(await readFile(path)),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

const secretIn = ({ stdout }: Ended): string => /isk_\w+/.exec(stdout)?.[0] ?? '';
const spans = ({ secrets }: Client): number[] =>
  secrets.map(({ endsAtMs }) => Math.round((endsAtMs - Date.now()) / dayMs));

test('ops client adds, lists, rotates and removes a client, and a gateway applies each change', async () => {
  await using file = await openFile();
  const scope = 'integration:suppliers:read';
  const added = await file.run('add', 'erp', '--integration', 'acme', '--scope', scope);
  expect(added).toMatchObject({ code: 0, stderr: '' });
  const secret = secretIn(added);
  expect(await file.read()).toMatchObject([
    {
      id: 'erp',
      integration: 'acme',
      scopes: [scope],
      secrets: [{ sha256: hashOf(secret), endsAtMs: Infinity }],
    },
  ]);
  expect((await stat(file.path)).mode & 0o777).toBe(0o600);

  await using nats = await startNats();
  await using _services = await openServices(nats.url);
  const settings = { AUTH_CLIENTS_FILE: file.path, AUTH_JWT_SECRET: '' };
  await using gateway = await openReadyGateway(nats.url, settings, { clientsEveryMs: 100 });
  const statusOf = async (key: string): Promise<number> => {
    const headers = { authorization: `Bearer ${key}` };
    return (await fetch(`${gateway.url}/api/v1/integration/suppliers`, { headers })).status;
  };
  const until = (key: string, status: number) =>
    eventually(
      () => statusOf(key),
      (seen) => seen === status,
    );
  expect(await statusOf(secret)).toBe(200);

  const rotated = await file.run('rotate', 'erp', '--old-end', '14d');
  expect(rotated.code).toBe(0);
  const next = secretIn(rotated);
  const [client] = await file.read();
  expect(client?.secrets.map(({ sha256 }) => sha256)).toEqual([hashOf(next), hashOf(secret)]);
  expect(client === undefined ? [] : spans(client)).toEqual([Infinity, 14]);
  await until(next, 200);
  expect(await statusOf(secret)).toBe(200);

  const listed = await file.run('list');
  for (const words of ['CLIENT', 'erp', 'acme', next.slice(4, 12), secret.slice(4, 12), 'never']) {
    expect(listed.stdout).toContain(words);
  }
  for (const hidden of [secret.slice(13), next.slice(13), hashOf(secret), hashOf(next)]) {
    expect(listed.stdout).not.toContain(hidden);
  }

  expect(await file.run('remove', 'erp', '--secret', secret.slice(4, 12))).toMatchObject({
    code: 0,
    stderr: '',
  });
  await until(secret, 401);
  expect(await statusOf(next)).toBe(200);
  expect((await file.run('remove', 'erp')).code).toBe(0);
  await until(next, 401);
  expect(await file.read()).toEqual([]);
  expect(await readdir(dirname(file.path))).toEqual(['clients.json']);
});

test('a rotation without an overlap ends the old secret immediately, and removes ended secrets', async () => {
  await using file = await openFile();
  await file.run('add', 'erp', '--integration', 'acme', '--ends', '365d');
  await file.run('add', 'pim', '--integration', 'acme');
  const rotated = await file.run(
    'rotate',
    'erp',
    '--old-end',
    '0d',
    '--ends',
    '2090-01-31T00:00:00Z',
    '--json',
  );
  expect(rotated.code).toBe(2);
  const again = await file.run('rotate', 'erp', '--old-end', '0d', '--ends', '30d', '--json');
  const found = JSON.parse(again.stdout) as { secret: string };
  const [erp, pim] = await file.read();
  expect(erp?.secrets.map(({ sha256 }) => sha256)).toEqual([hashOf(found.secret)]);
  expect(erp === undefined ? [] : spans(erp)).toEqual([30]);
  expect(pim?.secrets).toHaveLength(1);
});

test('ops client keeps owner and mode of the file, and secrets that have no name', async () => {
  await using file = await openFile();
  const sha256 = hashOf('of another program');
  const kept = {
    id: 'old',
    integration: 'acme',
    scope: 'integration:syncs:read',
    secrets: [`sha256:${sha256}`],
  };
  await writeFile(file.path, JSON.stringify([kept]));
  await chmod(file.path, 0o640);
  // Root alone may give a file away: its commands are for a gateway that runs as another user.
  if (process.getuid?.() === 0) await chown(file.path, 12_345, 12_345);
  const { uid, gid } = await stat(file.path);
  expect((await file.run('add', 'erp', '--integration', 'acme')).code).toBe(0);
  const after = await stat(file.path);
  expect(after.mode & 0o777).toBe(0o640);
  expect(after).toMatchObject({ uid, gid });
  expect((await file.read())[0]?.secrets).toEqual([{ name: undefined, sha256, endsAtMs: Infinity }]);
});

test('ops client replaces a file behind a symbolic link, and keeps the link', async () => {
  await using file = await openFile();
  const shared = join(dirname(file.path), 'shared');
  await mkdir(shared);
  await writeFile(join(shared, 'clients.json'), '[]');
  await symlink('shared/clients.json', file.path);
  expect((await file.run('add', 'erp', '--integration', 'acme')).code).toBe(0);
  expect(await readlink(file.path)).toBe('shared/clients.json');
  expect(parseClients(await readFile(join(shared, 'clients.json')))).toMatchObject([{ id: 'erp' }]);
  expect(await readdir(shared)).toEqual(['clients.json']);
});

test.each([
  [[], 2, 'Say what to do: add, list, rotate or remove.'],
  [['show'], 2, 'Say what to do: add, list, rotate or remove.'],
  [['constructor'], 2, 'Say what to do: add, list, rotate or remove.'],
  [['add'], 2, 'Name one client.'],
  [['add', 'pim'], 2, 'Say whose client it is: --integration acme.'],
  [['add', 'pim', 'dam', '--integration', 'acme'], 2, 'Name one client.'],
  [['add', 'the pim', '--integration', 'acme'], 2, 'An id is 1 to 64 printable characters'],
  [['add', 'pim', '--integration', 'a.b'], 2, '--integration: 1 to 64 letters'],
  [
    ['add', 'pim', '--integration', 'acme', '--scope', 'all'],
    2,
    '--scope: there is no all; there are integration:',
  ],
  [['add', 'pim', '--integration', 'acme', '--scope', ''], 2, '--scope: there is no scope'],
  [['add', 'pim', '--integration', 'acme', '--ends', 'soon'], 2, '--ends: a span such as 14d'],
  [['add', 'pim', '--integration', 'acme', '--ends', '3651d'], 2, 'within 3650d'],
  [['add', 'pim', '--integration', 'acme', '--ends', '2020-01-01T00:00:00Z'], 2, 'a future time'],
  [['add', 'pim', '--integration', 'acme', '--apply'], 2, '--apply does not go with ops client add.'],
  [['list', '--secret', 'x'], 2, '--secret does not go with ops client list.'],
  [['add', 'erp', '--integration', 'acme'], 1, 'There is a client erp already'],
  [['rotate', 'pim'], 1, 'There is no client pim'],
  [['remove', '__proto__'], 1, 'There is no client __proto__'],
  [['remove', 'erp', '--secret', 'AAAAAAAA'], 1, 'The client erp has no secret AAAAAAAA'],
])('ops client with %j changes nothing, and prints the reason', async (args, code, words) => {
  await using file = await openFile();
  await file.run('add', 'erp', '--integration', 'acme');
  const before = await readFile(file.path, 'utf8');
  const ended = await file.run(...args);
  expect(ended).toMatchObject({ code, stdout: '' });
  expect(ended.stderr).toContain(words);
  expect(await readFile(file.path, 'utf8')).toBe(before);
});

test('ops client refuses a wrong file with its problem, and leaves the file unchanged', async () => {
  await using file = await openFile();
  await writeFile(file.path, '[{]');
  const ended = await file.run('add', 'erp', '--integration', 'acme');
  expect(ended).toMatchObject({ code: 1, stdout: '' });
  expect(ended.stderr).toContain('the file is not JSON');
  expect(await readFile(file.path, 'utf8')).toBe('[{]');
});

test('of concurrent ops client commands each changes the file or is refused', async () => {
  await using file = await openFile();
  await file.run('add', 'erp', '--integration', 'acme');
  const ended = await Promise.all(
    ['pim', 'dam', 'wms', 'crm'].map((id) => file.run('add', id, '--integration', 'acme')),
  );
  const done = ended.filter(({ code }) => code === 0);
  expect((await file.read()).flatMap(({ secrets }) => secrets.map(({ sha256 }) => sha256)).slice(1)).toEqual(
    expect.arrayContaining(done.map((one) => hashOf(secretIn(one)))),
  );
  expect(await file.read()).toHaveLength(1 + done.length);
  for (const { stderr } of ended.filter((one) => !done.includes(one)))
    expect(stderr).toMatch(/^Nothing was changed: another command (has changed|is changing) /);
  expect(await readdir(dirname(file.path))).toEqual(['clients.json']);
});

test('ops client names the draft that a killed command has left', async () => {
  await using file = await openFile();
  await writeFile(`${file.path}.draft`, '');
  const { code, stderr } = await file.run('add', 'erp', '--integration', 'acme');
  expect([code, stderr]).toEqual([1, expect.stringContaining(`remove ${file.path}.draft first`)]);
});

test('ops client names a missing folder, and shows no secret', async () => {
  const ended = await runOps(['client', 'add', 'erp', '--integration', 'acme'], {
    AUTH_CLIENTS_FILE: '/nowhere/at/all/clients.json',
  });
  expect(ended).toMatchObject({ code: 1, stdout: '' });
  expect(ended.stderr).toContain('/nowhere/at/all/clients.json cannot be replaced (there is no such file)');
});

test('ops client names the missing AUTH_CLIENTS_FILE, and works as a process of the image', async () => {
  expect((await runOps(['client', 'list'], { AUTH_CLIENTS_FILE: '' })).stderr).toContain(
    'AUTH_CLIENTS_FILE: expected',
  );
  await using file = await openFile();
  const ended = await startOps(['client', 'add', 'erp', '--integration', 'acme'], {
    AUTH_CLIENTS_FILE: file.path,
  }).ended;
  expect(ended.code).toBe(0);
  expect((await file.read())[0]?.secrets[0]?.sha256).toBe(hashOf(secretIn(ended)));
});
