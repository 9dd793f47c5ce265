import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Stack } from '@integration-sync/dev/stack';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/folder.ts';
import { openLoader } from '../support/loader-command.ts';
import { pythonPath, pythonWithPackages } from '../support/python.ts';
import { openClient, startTestStack } from '../support/stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startTestStack();
});
afterAll(() => stack[Symbol.asyncDispose]());

const line = (message: object): string => `${JSON.stringify(message)}\n`;

it('the Singer target sends buffered records after a pause, and archives records that a new version of the table lacks', async () => {
  await using folder = await temporaryFolder();
  const acme = openClient(stack);
  await acme.post('/suppliers', {
    suppliers: Array.from({ length: 20 }, (_, index) => ({ externalId: `${index}`, name: 'old' })),
  });
  await eventually(
    async () => (await acme.get('/suppliers?limit=1')).headers.get('x-next-since') ?? '',
    (next) => Date.parse(next) > Date.now() - 2_000,
    60_000,
  );
  const loader = openLoader({ stack, integration: acme.integration, folder: folder.path });
  await loader.write(
    'settings.json',
    JSON.stringify({
      streams: { vendors: { kind: 'suppliers', columns: { lifnr: 'externalId', name1: 'name' } } },
    }),
  );
  const { child, ended } = loader.start('singer', '--config', 'settings.json');
  let out = '';
  child.stdout?.on('data', (chunk: Buffer) => (out += chunk.toString()));
  const record = (lifnr: number) =>
    line({ type: 'RECORD', stream: 'vendors', version: 7, record: { lifnr, name1: 'new' } });
  child.stdin?.write(
    line({ type: 'SCHEMA', stream: 'vendors', schema: { properties: { lifnr: {}, name1: {}, ort01: {} } } }) +
      line({ type: 'ACTIVATE_VERSION', stream: 'vendors', version: 7 }) +
      Array.from({ length: 18 }, (_, index) => record(index)).join('') +
      line({ type: 'STATE', value: { seen: 18 } }),
  );
  // The tap is silent now, and its STATE comes out nevertheless.
  await eventually(
    () => out,
    (text) => text === '{"seen":18}\n',
  );
  child.stdin?.end(
    line({ type: 'ACTIVATE_VERSION', stream: 'vendors', version: 7 }) +
      line({ type: 'STATE', value: { seen: 'all' } }),
  );
  expect(await ended).toMatchObject({ code: 0, out: '{"seen":18}\n{"seen":"all"}\n' });
  const { body } = await acme.get('/suppliers?limit=100');
  const archived = (
    body as unknown as { entities: { externalId: string; syncStatus: string }[] }
  ).entities.filter(({ syncStatus }) => syncStatus === 'ARCHIVED');
  expect(archived.map(({ externalId }) => externalId)).toEqual(['18', '19']);
});

const kills = Number(process.env['SYNC_LOADER_KILLS'] ?? 3);

it(
  'the Singer target prints no STATE before its records are stored, whenever it is killed',
  { timeout: 60_000 + kills * 20_000 },
  async () => {
    await using folder = await temporaryFolder();
    const acme = openClient(stack);
    const loader = openLoader({ stack, integration: acme.integration, folder: folder.path });
    const count = 4_000 * kills;
    const schema = { properties: { externalId: {}, name: {} } };
    // A STATE says how many records came before it.
    const tapFrom = (from: number): string =>
      line({ type: 'SCHEMA', stream: 'suppliers', schema }) +
      Array.from({ length: count - from }, (_, index) => {
        const record = { externalId: `${from + index}`, name: 'N' };
        const one = line({ type: 'RECORD', stream: 'suppliers', record });
        return index % 700 === 699 ? one + line({ type: 'STATE', value: from + index + 1 }) : one;
      }).join('') +
      line({ type: 'STATE', value: count });
    const isThere = async (id: number): Promise<boolean> =>
      ((await acme.get(`/suppliers?externalId=${id}`)).body as unknown as { total: number }).total === 1;

    let stored = 0;
    for (let kill = 0; stored < count; kill += 1) {
      const { child, ended } = loader.start('singer');
      child.stdin?.on('error', () => undefined);
      child.stdin?.end(tapFrom(stored));
      if (kill < kills) {
        const said = once(child.stdout ?? child, 'data');
        if (kill % 3 !== 2) await Promise.race([said, ended]);
        await setTimeout(Math.random() * 600);
        child.kill('SIGKILL');
      }
      const { out } = await ended;
      const states = out.split('\n').slice(0, -1).map(Number);
      const last = states.at(-1) ?? stored;
      expect(states.toSorted((one, other) => one - other)).toEqual(states);
      // The last ones before it are those that may not be there.
      const before = Array.from({ length: Math.min(20, last - stored) }, (_, index) => last - 1 - index * 25);
      const there = await Promise.all(before.filter((id) => id >= stored).map(isThere));
      expect(there.filter((one) => !one)).toEqual([]);
      stored = last;
    }
    expect((await acme.get('/suppliers?limit=1')).body).toMatchObject({ total: count });
  },
);

/** A Python that has dlt, pandas and pyarrow; a machine without one runs the other tests. */
const pythons = [pythonWithPackages ?? 'python3'].filter(
  (python) => spawnSync(python, ['-c', 'import dlt, pandas, pyarrow']).status === 0,
);

it.each(pythons)(
  'the destination of dlt pushes tables, and writes rejected rows to a file, by %s',
  async (python) => {
    await using folder = await temporaryFolder();
    const acme = openClient(stack);
    const script = `
import datetime, decimal, dlt, pandas
from destination import integration_sync

pipeline = dlt.pipeline("erp", destination=integration_sync, pipelines_dir="pipelines")
pipeline.run([{"externalId": f"S-{i}", "name": "Grün", "certifications": ["FSC"], "code": None} for i in range(600)], table_name="suppliers")
pipeline.run(pandas.DataFrame({"externalId": ["S-F", "S-G"], "name": ["Frame", "Row"], "country": ["SE", None]}), table_name="suppliers")
pipeline.run([{"externalId": "P-1", "name": "Eiche", "supplierExternalId": "S-7"}, {"externalId": "P-2", "name": "Esche", "supplierExternalId": "S-X"}], table_name="products")
pipeline.run([{"externalId": "B-1", "productExternalId": "P-1", "batchNumber": "7", "quantity": 1.5, "receivedDate": datetime.date(2026, 3, 31)}], table_name="batches")
at = datetime.datetime(2026, 3, 31, 10, tzinfo=datetime.timezone.utc)
pipeline.run([{"externalId": "B-2", "productExternalId": "P-X", "batchNumber": "8", "quantity": decimal.Decimal("1.5"), "expiryDate": at}], table_name="batches")
`;
    await promisify(execFile)(python, ['-c', script], {
      cwd: folder.path,
      env: {
        PATH: process.env['PATH'],
        PYTHONPATH: [resolve('docs/loading'), pythonPath].join(delimiter),
        PYTHONDONTWRITEBYTECODE: '1',
        RUNTIME__DLTHUB_TELEMETRY: 'false',
        DESTINATION__INTEGRATION_SYNC__URL: stack.gateway,
        DESTINATION__INTEGRATION_SYNC__KEY: stack.token({ integration: acme.integration }),
      },
    });
    expect((await acme.get('/suppliers?limit=1')).body).toMatchObject({ total: 602 });
    expect((await acme.get('/batches?details=true')).body).toMatchObject({
      entities: [{ externalId: 'B-1', details: { fields: { quantity: 1.5, receivedDate: '2026-03-31' } } }],
    });
    const rejectsOf = async (table: string): Promise<unknown> =>
      JSON.parse(await readFile(join(folder.path, `rejects/${table}.ndjson`), 'utf8'));
    expect(await rejectsOf('batches')).toMatchObject({
      quantity: 1.5,
      expiryDate: '2026-03-31T10:00:00+00:00',
    });
    expect(await rejectsOf('products')).toEqual({
      externalId: 'P-2',
      name: 'Esche',
      supplierExternalId: 'S-X',
      '#reason': 'Supplier with externalId "S-X" not found. Sync suppliers first.',
    });
  },
);
