import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { useLoader } from '../support/loader-command.ts';

// A load that ends before its time, and goes on.

const at = useLoader();

const rowCount = 6_000;
/** Every hundredth is rejected, and the last 1,000 rows repeat ids of the first. */
const linesOf = (rows: number): string[] =>
  Array.from({ length: rows }, (_, index) => {
    const id = index < rows - 1_000 ? index : index - (rows - 1_000);
    return `S-${id},name ${index},${index % 100 === 50 ? 'Narnia' : 'DE'}`;
  });
const fileOf = (lines: readonly string[]): string => ['externalId,name,country', ...lines].join('\n');
const lines = linesOf(rowCount);
const file = fileOf(lines);

interface State {
  phase: string;
  files: { row: number }[];
}

const stateOf = async (): Promise<State | undefined> =>
  readFile(join(at.folder.path, '.integration-sync/load.json'), 'utf8').then(
    (text) => JSON.parse(text) as State,
    () => undefined,
  );

const isUnderWay = (state: State | undefined): boolean => (state?.files[0]?.row ?? 0) > 0;

async function expectAllLoaded(sent: readonly string[]): Promise<void> {
  const names = new Map<string, string>();
  let path: string | undefined = '/suppliers?limit=100';
  while (path !== undefined) {
    const { body, headers } = await at.acme.get(path);
    for (const { externalId, name } of (
      body as unknown as { entities: { externalId: string; name: string }[] }
    ).entities) {
      names.set(externalId, name);
    }
    path = /<([^>]+)>/.exec(headers.get('link') ?? '')?.[1];
  }
  const expected = new Map<string, string>();
  for (const line of sent) {
    const [id = '', name = '', country] = line.split(',');
    if (country === 'DE') expected.set(id, name);
  }
  expect(names.size).toBe(expected.size);
  expect(Object.fromEntries(names)).toEqual(Object.fromEntries(expected));
  const rejects = (await readFile(join(at.folder.path, 'rejects/suppliers.csv'), 'utf8'))
    .trim()
    .split('\r\n')
    .slice(1);
  const rejected = sent.flatMap((line, index) => (line.endsWith('Narnia') ? [String(index + 2)] : []));
  expect(rejects.map((line) => line.split(',')[3])).toEqual(rejected);
  const results = (await readFile(join(at.folder.path, 'results.csv'), 'utf8')).trim().split('\r\n').slice(1);
  expect(results.map((line) => Number(line.split(',')[1]))).toEqual(sent.map((_line, index) => index + 2));
}

const args = ['load', 'suppliers.csv', '--lanes', '1', '--results', 'results.csv'];

it('a load that was killed resumes at the first unacknowledged row, and writes no reject twice', async () => {
  await at.loader.write('suppliers.csv', file);
  const { child, ended } = at.loader.start(...args);
  await eventually(stateOf, isUnderWay, 60_000);
  child.kill('SIGKILL');
  await ended;
  const resumed = await at.loader.run('load', '--resume', '--json');
  const { total, finished } = JSON.parse(resumed.out) as { total: Record<string, number>; finished: boolean };
  expect({ code: resumed.code, finished, rejected: total['rejected'] }).toEqual({
    code: 2,
    finished: true,
    rejected: 60,
  });
  const { created = 0, updated = 0, unchanged = 0, sentAgain = 0 } = total;
  expect(created + updated + unchanged + sentAgain).toBe(rowCount - 60);
  await expectAllLoaded(lines);
  expect(await at.loader.run('load', '--resume')).toMatchObject({
    code: 3,
    err: expect.stringContaining('The last load has finished'),
  });
});

it('a load saves its offset on Ctrl-C, and refuses to resume with a changed file', async () => {
  await at.loader.write('suppliers.csv', file);
  const { child, ended } = at.loader.start(...args);
  await eventually(stateOf, isUnderWay, 60_000);
  child.kill('SIGINT');
  expect(await ended).toMatchObject({ code: 130, err: expect.stringContaining('Interrupted') });
  expect((await stateOf())?.phase).toBe('loading');
  expect(await at.loader.run('prune')).toMatchObject({
    code: 3,
    err: expect.stringContaining('has not finished'),
  });
  await at.loader.write('suppliers.csv', file.replace('name 5999', 'name 6000'));
  expect(await at.loader.run('load', '--resume')).toMatchObject({
    code: 3,
    err: expect.stringContaining('has changed since the load began'),
  });
  await at.loader.write('suppliers.csv', file);
  expect((await at.loader.run('load', '--resume')).code).toBe(2);
  await expectAllLoaded(lines);
});

const kills = Number(process.env['SYNC_LOADER_KILLS'] ?? 3);

it(
  'a resumed load has stored each row once, whenever the loader, catalog and NATS were killed',
  { timeout: 60_000 + kills * 20_000 },
  async () => {
    const many = linesOf(3_000 * kills);
    await at.loader.write('suppliers.csv', fileOf(many));
    const afterMs: number[] = [];
    const strikes = [undefined, () => at.stack.kill('catalog'), () => at.stack.engines.nats.kill()];
    let how = ['load', 'suppliers.csv', '--results', 'results.csv'];
    while (afterMs.length < kills) {
      const { child, ended } = at.loader.start(...how);
      const before = (await stateOf())?.files[0]?.row ?? 0;
      // Most moments are amid pushes: what comes before them is the same in every load.
      if (afterMs.length % 4 !== 3) {
        await eventually(
          stateOf,
          (state) => (state?.files[0]?.row ?? 0) > before || state?.phase === 'finished',
          60_000,
        );
      }
      const ms = Math.round(Math.random() * 1_000);
      afterMs.push(ms);
      await setTimeout(ms);
      // What the loader pushes to may die before it.
      await strikes[afterMs.length % strikes.length]?.();
      await setTimeout(ms % 300);
      child.kill('SIGKILL');
      await ended;
      if ((await stateOf()) !== undefined) how = ['load', '--resume'];
    }
    const isFinished = (await stateOf())?.phase === 'finished';
    const { code, err } = isFinished ? { code: 2, err: '' } : await at.loader.run('load', '--resume');
    expect({ code, err, afterMs }).toMatchObject({ code: 2 });
    await at.stack.ready(60_000);
    await expectAllLoaded(many);
  },
);
