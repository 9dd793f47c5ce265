import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/folder.ts';
import { openLoader, useLoader, type Ended } from '../support/loader-command.ts';
import { openClient } from '../support/stack.ts';

// A load as a cron job meets it by night: rejects of yesterday, a load that still runs, a folder of someone else.

const at = useLoader();

const pathOf = (name: string): string => join(at.folder.path, name);
const total = async (): Promise<unknown> => (await at.acme.get('/suppliers?limit=1')).body;

const pruned = async (): Promise<unknown> =>
  JSON.parse((await at.loader.run('prune', '--json', '--most', '50')).out);

/** The time up to which all is known catches up with the last push. */
const caughtUp = (pushedAt = Date.now()): Promise<string> =>
  eventually(
    async () => (await at.acme.get('/suppliers?limit=1')).headers.get('x-next-since') ?? '',
    (next) => Date.parse(next) > pushedAt - 2_000,
    60_000,
  );

const fileOf = (countries: readonly string[]): string =>
  ['externalId;name;country', ...countries.map((country, n) => `S-${n};Name ${n};${country}`)].join('\n');

it('prune counts a load of repaired rejects as a part of the load before', async () => {
  await at.acme.post('/suppliers', { suppliers: [{ externalId: 'S-old', name: 'in no file' }] });
  await caughtUp();
  await at.loader.write('suppliers.csv', fileOf(['DE', 'DE', 'XX', 'XX', 'DE']));
  expect((await at.loader.run('load', 'suppliers.csv')).code).toBe(2);
  await caughtUp();
  const rejects = await readFile(pathOf('rejects/suppliers.csv'), 'utf8');
  // One row stays wrong: its record counts as loaded.
  await at.loader.write('rejects/suppliers.csv', rejects.replace(';XX;', ';DE;'));
  expect((await at.loader.run('load', 'rejects/suppliers.csv')).code).toBe(2);
  expect(await pruned()).toMatchObject([{ kind: 'suppliers', total: 5, gone: 1, ids: ['S-old'] }]);
  // Repaired in a spreadsheet, in which the two columns of the loader were deleted.
  const again = await readFile(pathOf('rejects/suppliers-2.csv'), 'utf8');
  const lines = again.trim().split('\r\n');
  const cut = lines.map((line) => line.split(';').slice(0, 3).join(';').replace(';XX', ';SE'));
  await at.loader.write('rejects/suppliers-2.csv', cut.join('\r\n'));
  expect((await at.loader.run('load', 'rejects/suppliers-2.csv')).code).toBe(0);
  const repairedAt = Date.now();
  expect(await pruned()).toMatchObject([{ kind: 'suppliers', total: 6, gone: 1, ids: ['S-old'] }]);
  // A file of all rows begins a history of its own.
  await caughtUp(repairedAt);
  await at.loader.write('suppliers.csv', fileOf(['DE', 'DE', 'SE', 'SE']));
  expect((await at.loader.run('load', 'suppliers.csv')).code).toBe(0);
  expect(await at.loader.run('prune', '--most', '50')).toMatchObject({
    code: 0,
    out: expect.stringContaining('2 of 6 records were not in the last load\n  '),
  });
});

it('prune refuses after a load that rejected a row whose id cannot be read, until the repaired row is loaded', async () => {
  await at.loader.write('suppliers.csv', 'externalId;name\n4012345678901;One\nS-2;Two\n');
  expect((await at.loader.run('load', 'suppliers.csv')).code).toBe(0);
  await caughtUp();
  await at.loader.write('suppliers.csv', 'externalId;name\n4,01235E+12;One\nS-2;Two\n;Total\n');
  expect((await at.loader.run('load', 'suppliers.csv')).code).toBe(2);
  expect(await at.loader.run('prune')).toMatchObject({
    code: 3,
    err: 'The last load of suppliers has unreadable ids: load its files anew.\n',
  });
  const rejects = await readFile(pathOf('rejects/suppliers.csv'), 'utf8');
  await at.loader.write('rejects/suppliers.csv', rejects.replace('4,01235E+12', '4012345678901'));
  expect((await at.loader.run('load', 'rejects/suppliers.csv')).code).toBe(2);
  expect(await pruned()).toMatchObject([{ kind: 'suppliers', total: 2, gone: 0 }]);
});

it('prune and --resume refuse a load of another integration', async () => {
  await at.loader.write('suppliers.csv', fileOf(['DE']));
  expect((await at.loader.run('load', 'suppliers.csv')).code).toBe(0);
  const stranger = openClient(at.stack);
  const other = openLoader({
    stack: at.stack,
    integration: stranger.integration,
    folder: at.folder.path,
  });
  expect(await other.run('prune')).toMatchObject({
    code: 3,
    err: expect.stringContaining(
      `went to ${at.acme.integration} at ${at.stack.gateway}, and not to ${stranger.integration} at`,
    ),
  });
  const state = JSON.parse(await readFile(pathOf('.integration-sync/load.json'), 'utf8')) as object;
  await at.loader.write('.integration-sync/load.json', JSON.stringify({ ...state, phase: 'loading' }));
  expect(await other.run('load', '--resume')).toMatchObject({
    code: 3,
    err: expect.stringContaining(`and not to ${stranger.integration}`),
  });
  expect(await at.loader.run('load', '--resume')).toMatchObject({ code: 0 });
});

it('one of eight concurrent loads in a folder runs; the other loads name the running load and send nothing', async () => {
  const rows = Array.from({ length: 3_000 }, () => 'DE');
  for (let n = 0; n < 8; n += 1)
    await at.loader.write(`suppliers-${n}.csv`, fileOf(rows).replaceAll('\nS-', `\n${n}-`));
  const ends = await Promise.all(
    Array.from({ length: 8 }, (_, n) => at.loader.run('load', `suppliers-${n}.csv`)),
  );
  const winners = ends.flatMap(({ code }, n) => (code === 0 ? [n] : []));
  expect(winners.length).toBeGreaterThan(0);
  for (const [n, { code, err }] of ends.entries()) {
    if (winners.includes(n)) continue;
    expect([code, err]).toEqual([
      3,
      expect.stringMatching(
        /^(?:Process \d+ works in \.integration-sync since .*: load suppliers-\d\.csv|Another process has just begun in \.integration-sync)\. Nothing was sent/,
      ),
    ]);
  }
  // A load that began after another had ended is no loser.
  expect(await total()).toMatchObject({ total: 3_000 * winners.length });
  const state = JSON.parse(await readFile(pathOf('.integration-sync/load.json'), 'utf8')) as object;
  expect(state).toMatchObject({ phase: 'finished', files: [{ counts: { created: 3_000 } }] });
  const beside = await at.loader.run('load', 'suppliers-0.csv', '--state', 'beside');
  expect(beside.code).toBe(0);
});

it('a load takes over the folder of a killed load, and names that load', async () => {
  await at.loader.write('suppliers.csv', fileOf(Array.from({ length: 20_000 }, () => 'DE')));
  const { child, ended } = at.loader.start('load', 'suppliers.csv', '--lanes', '1');
  await eventually(
    async () => readFile(pathOf('.integration-sync/load.json'), 'utf8').catch(() => ''),
    (text) => /"row": [1-9]/.test(text),
    60_000,
  );
  expect(await at.loader.run('load', 'suppliers.csv')).toMatchObject({
    code: 3,
    err: expect.stringContaining(`Process ${child.pid} works in .integration-sync since`),
  });
  expect((await at.loader.run('prune')).code).toBe(3);
  child.kill('SIGKILL');
  await ended;
  await at.loader.write('suppliers-2.csv', fileOf(['SE']));
  const next = await at.loader.run('load', 'suppliers-2.csv');
  expect(next).toMatchObject({
    code: 0,
    err: expect.stringMatching(/takes the place of one that was interrupted: suppliers\.csv \(row \d+\)/),
  });
  expect(await readdir(pathOf('.integration-sync'))).not.toContain('lock-1');
});

const modeOf = async (name: string): Promise<number> => (await stat(pathOf(name))).mode % 0o1000;

it('a load writes state, rejects and results that other users of the machine cannot read', async () => {
  await at.loader.write('results.csv', 'of a release that wrote it for all');
  await at.loader.write('suppliers.csv', fileOf(['DE', 'XX']));
  await at.loader.run('load', 'suppliers.csv', '--results', 'results.csv');
  const inState = (await readdir(pathOf('.integration-sync'))).map((name) => `.integration-sync/${name}`);
  const files = [...inState, 'rejects/suppliers.csv', 'results.csv'];
  const modes = await Promise.all(files.map(async (name) => [name, await modeOf(name)]));
  expect(modes).toEqual(files.map((name) => [name, 0o600]));
  expect(await modeOf('.integration-sync')).toBe(0o700);
  expect(await modeOf('rejects')).toBe(0o700);
});

it.each(['results.csv', 'rejects', '.integration-sync'])(
  'a load does not write through a symbolic link: %s',
  async (name) => {
    await mkdir(pathOf('elsewhere'));
    await writeFile(pathOf('elsewhere/file'), 'of another');
    await symlink(name === 'results.csv' ? pathOf('elsewhere/file') : pathOf('elsewhere'), pathOf(name));
    await at.loader.write('suppliers.csv', fileOf(['XX']));
    const said = await at.loader.run('load', 'suppliers.csv', '--results', 'results.csv');
    expect(said).toMatchObject({ code: 3, err: expect.stringContaining(`${name} is a link`) });
    expect(await readdir(pathOf('elsewhere'))).toEqual(['file']);
    expect(await readFile(pathOf('elsewhere/file'), 'utf8')).toBe('of another');
  },
);

/** A state that came along with a folder, and names files to write. */
async function resumed(change: object, ...args: string[]): Promise<Ended> {
  const state = JSON.parse(await readFile(pathOf('.integration-sync/load.json'), 'utf8')) as object;
  const left = { ...state, phase: 'loading', ...change };
  await at.loader.write('.integration-sync/load.json', JSON.stringify(left));
  return at.loader.run('load', '--resume', ...args);
}

it('a resumed load writes outside the working folder only to files that its command names', async () => {
  await at.loader.write('suppliers.csv', fileOf(['DE']));
  expect((await at.loader.run('load', 'suppliers.csv')).code).toBe(0);
  await using elsewhere = await temporaryFolder();
  const outside = join(elsewhere.path, 'results.csv');
  await writeFile(outside, 'of another');
  const results = { path: outside, bytes: 0 };
  expect(await resumed({ results })).toMatchObject({
    code: 3,
    err: expect.stringContaining(`outside of this folder: say --results ${outside} once more`),
  });
  await symlink('/', pathOf('linked'));
  const rejectsFolder = pathOf('linked/tmp');
  expect(await resumed({ results: undefined, rejectsFolder })).toMatchObject({
    code: 3,
    err: expect.stringContaining('outside of this folder: say --rejects'),
  });
  const files = [{ path: pathOf('suppliers.csv'), rejects: { path: outside, bytes: 0 } }];
  expect(await resumed({ rejectsFolder: pathOf('rejects'), files })).toMatchObject({
    code: 3,
    err: expect.stringContaining('is broken: load anew'),
  });
  expect(await readFile(outside, 'utf8')).toBe('of another');
});

it('a load that stops after rows were stored ends with exit code 1 and not with 3', async () => {
  await at.loader.write('suppliers.csv', fileOf(Array.from({ length: 20_000 }, () => 'DE')));
  const { child, ended } = at.loader.start('load', 'suppliers.csv', '--lanes', '1');
  await eventually(total, (body) => (body as { total: number }).total > 0, 60_000);
  // A folder in the way of its state, as a full quota or a missing permission is.
  const obstacle = pathOf('.integration-sync/load.json.new');
  await eventually(
    () =>
      mkdir(obstacle).then(
        () => true,
        () => false,
      ),
    (isMade) => isMade,
  );
  const end = await ended;
  expect(child.exitCode).toBe(1);
  expect(end.err).toContain('Rows before this are stored: load --resume goes on.');
});

it('verify confirms that the records equal the rows of a file, and names records that differ', async () => {
  // An empty cell leaves its field as it is.
  const rows = ['externalId;name;country', 'S-1;One;SE', 'S-2;Two;DE', 'S-1;One;', 'S-3;Three;DE'];
  await at.loader.write('suppliers.csv', rows.join('\n'));
  const before = await at.loader.run('verify', 'suppliers.csv', '--json');
  expect(before.code).toBe(2);
  expect(JSON.parse(before.out)).toMatchObject({
    differences: 3,
    shown: ['row 2: S-1', 'row 3: S-2', 'row 5: S-3'].map((where) => `suppliers.csv, ${where} is not there`),
  });
  expect(await total()).toMatchObject({ total: 0 });
  expect((await at.loader.run('load', 'suppliers.csv')).code).toBe(0);
  expect(await at.loader.run('verify', 'suppliers.csv')).toMatchObject({
    code: 0,
    out: expect.stringContaining('Both sides are equal.'),
  });
  await at.acme.post('/suppliers', {
    suppliers: [
      { externalId: 'S-2', name: 'Zwei' },
      { externalId: 'S-1', country: 'FR', name: 'One' },
      { externalId: 'S-9', name: 'Nine' },
    ],
  });
  await at.acme.post('/suppliers/archive', { externalIds: ['S-3'] });
  const changed = await at.loader.run('verify', 'suppliers.csv');
  expect(changed.code).toBe(2);
  expect(changed.out).toContain('4 differences:\n');
  for (const text of [
    'row 3: S-2 differs in name',
    'row 2: S-1 differs in country',
    'row 5: S-3 ',
    'suppliers: S-9 is in no file',
  ]) {
    expect(changed.out).toContain(text);
  }
});

it('verify names a record that no row names, though the rows name as many ids as there are records', async () => {
  await at.acme.post('/suppliers', {
    suppliers: [
      { externalId: 'S-1', name: 'One' },
      { externalId: 'S-2', name: 'Two' },
    ],
  });
  await at.loader.write('suppliers.csv', ['externalId;name', 'S-1;One', 'S-3;Three', 'S-3;Three'].join('\n'));
  const { code, out } = await at.loader.run('verify', 'suppliers.csv');
  expect(code).toBe(2);
  expect(out).toContain('suppliers: S-2 is in no file');
});

it('verify counts a rejected row as a difference, and shows the first ten differences', async () => {
  await at.loader.write(
    'suppliers.csv',
    fileOf(Array.from({ length: 30 }, (_, n) => (n === 3 ? 'XX' : 'DE'))),
  );
  const { code, out } = await at.loader.run('verify', 'suppliers.csv');
  expect(code).toBe(2);
  expect(out).toContain('30 differences:\n');
  expect(out).toContain('row 5: country: expected');
  expect(out).toContain('\n  and 20 more\n');
  expect((await at.loader.run('load', 'suppliers.csv')).code).toBe(2);
  expect(await at.loader.run('verify', 'suppliers.csv')).toMatchObject({
    code: 2,
    out: expect.stringContaining('1 difference:\n'),
  });
});
