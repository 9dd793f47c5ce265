import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { makeWorkbook } from '../support/workbooks.ts';
import iconv from 'iconv-lite';
import { expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { openLoader, useLoader } from '../support/loader-command.ts';

// The loader as its users have it: a process, files, and the whole service.

const at = useLoader();

const read = (name: string): Promise<string> => readFile(join(at.folder.path, name), 'latin1');

interface Listed {
  externalId: string;
  syncStatus: string;
  details: { fields: Record<string, unknown> };
}
async function fieldsOf(kind: string): Promise<Record<string, unknown>> {
  const { body } = await at.acme.get(`/${kind}?details=true&limit=100`);
  const { entities } = body as unknown as { entities: Listed[] };
  return Object.fromEntries(entities.map(({ externalId, details }) => [externalId, details.fields]));
}

const latin1 = (lines: string[]): Buffer => Buffer.from(`${lines.join('\r\n')}\r\n`, 'latin1');

it('the loader loads the CSV files of a German Excel without a map: suppliers, then products, then batches', async () => {
  await at.loader.write(
    'batches.csv',
    latin1([
      'External ID;Product_external_ID;batchNumber;Quantity;unit;receivedDate',
      'B-1;P-1;Los Größe 1;1.250,5;kg;31.03.2026',
      'B-2;P-1;"Los ""2""; klein";12;kg;2026-04-01',
    ]),
  );
  await at.loader.write('Products 2026.csv', latin1(['externalId;name;supplierExternalId', 'P-1;Eiche;S-1']));
  await at.loader.write(
    'suppliers.csv.gz',
    gzipSync(
      latin1([
        'sep=;',
        'externalId;name;certifications;isEuOrigin',
        '0001;Holz Müller;FSC, PEFC;ja',
        'S-1;Ähre;;nein',
      ]),
    ),
  );
  const { code, out, err } = await at.loader.run(
    'load',
    'batches.csv',
    'Products 2026.csv',
    'suppliers.csv.gz',
    '--json',
  );
  expect({ code, err }).toMatchObject({ code: 0 });
  expect(err).toContain('windows-1252, as in "0001;Holz Müller;FSC, PEFC;ja"');
  expect(err).toContain('decimal comma, as in "1.250,5"; dates as DD.MM.YYYY, as in "31.03.2026"');
  expect(JSON.parse(out)).toMatchObject({ finished: true, total: { created: 5, rejected: 0 } });
  expect(await fieldsOf('suppliers')).toEqual({
    '0001': { name: 'Holz Müller', certifications: ['FSC', 'PEFC'], isEuOrigin: true },
    'S-1': { name: 'Ähre', isEuOrigin: false },
  });
  expect(await fieldsOf('batches')).toEqual({
    'B-1': {
      productExternalId: 'P-1',
      batchNumber: 'Los Größe 1',
      quantity: 1250.5,
      unit: 'kg',
      receivedDate: '2026-03-31',
    },
    'B-2': {
      productExternalId: 'P-1',
      batchNumber: 'Los "2"; klein',
      quantity: 12,
      unit: 'kg',
      receivedDate: '2026-04-01',
    },
  });
});

it('the loader writes rejected rows in the format of the loaded file, and loads these rows after their repair', async () => {
  await at.loader.write(
    'suppliers.csv',
    latin1([
      'externalId;name;country',
      'S-1;Müller;DE',
      'S-2;Größe;GERMANLAND',
      'S-3;Böhm;XX',
      'S-4;Æbel;DK',
    ]),
  );
  const first = await at.loader.run('load', 'suppliers.csv', '--results', 'results.csv');
  expect(first.code).toBe(2);
  expect(first.out).toContain('2 created, 0 updated, 0 unchanged, 2 rejected');
  const rejects = await read('rejects/suppliers.csv');
  expect(rejects.split('\r\n')).toEqual([
    'externalId;name;country;#row;#reason',
    expect.stringMatching(
      /^S-2;Größe;GERMANLAND;3;"country: expected .*got ""GERMANLAND""; or its name in .*"$/,
    ),
    expect.stringMatching(/^S-3;Böhm;XX;4;/),
    '',
  ]);
  const results = (await read('results.csv')).split('\r\n');
  expect(results[0]).toBe('file,row,externalId,internalId,status');
  expect(results[1]).toMatch(/^suppliers\.csv,2,S-1,sup_\w+,created$/);
  expect(results[2]).toBe('suppliers.csv,3,S-2,,rejected');
  expect(results).toHaveLength(6);
  await at.loader.write(
    'rejects/suppliers.csv',
    Buffer.from(rejects.replaceAll(/GERMANLAND|XX/g, 'DE'), 'latin1'),
  );
  const repaired = await at.loader.run('load', 'rejects/suppliers.csv');
  expect(repaired).toMatchObject({ code: 0, out: expect.stringContaining('2 created') });
  expect(await fieldsOf('suppliers')).toMatchObject({ 'S-2': { name: 'Größe', country: 'DE' } });
});

it('the loader stores the last row of an id, with eight pushes in flight', async () => {
  const rows: string[] = ['externalId,name'];
  for (let turn = 1; turn <= 20; turn += 1) {
    for (let id = 0; id < 1_000; id += 1)
      rows.push(`S-${(id * (turn % 2 === 0 ? 7 : 3)) % 1_000},turn ${turn}`);
  }
  await at.loader.write('suppliers.csv', rows.join('\n'));
  const { code, out } = await at.loader.run('load', 'suppliers.csv', '--lanes', '8', '--json');
  expect({ code, ...JSON.parse(out).total }).toMatchObject({ code: 0, created: 1_000, rejected: 0 });
  const names = new Set<string>();
  for (let page = 1; page <= 10; page += 1) {
    const { body } = await at.acme.get(`/suppliers?limit=100&page=${page}`);
    for (const { name } of (body as unknown as { entities: { name: string }[] }).entities) names.add(name);
  }
  expect([...names]).toEqual(['turn 20']);
});

it('the loader plans a load of several files whose rows refer to each other, and changes nothing', async () => {
  await at.loader.write('suppliers.csv', 'externalId,name\nS-1,One\n');
  await at.loader.write('products.csv', 'externalId,name,supplierExternalId\nP-1,Oak,S-1\nP-2,Pine,S-404\n');
  const planned = await at.loader.run('plan', 'suppliers.csv', 'products.csv');
  expect(planned.code).toBe(2);
  expect(planned.out).toContain('1 to create, 0 to update, 0 unchanged, 1 rejected');
  expect(planned.out).toContain(
    'products.csv, row 3: Supplier with externalId "S-404" not found. Sync suppliers first.',
  );
  expect((await at.acme.get('/suppliers')).body).toMatchObject({ total: 0 });
  expect((await at.acme.get('/sync-runs')).body).toMatchObject({ total: 0 });
});

it('the loader plans with a key that may only read, and names the missing scope of a key that may neither read nor write', async () => {
  await at.loader.write('suppliers.csv', 'externalId,name\nS-1,One\nS-2,Two\n');
  await at.acme.post('/suppliers', { suppliers: [{ externalId: 'S-1', name: 'One' }] });
  const withScope = (scope: string) =>
    openLoader({ stack: at.stack, integration: at.acme.integration, folder: at.folder.path, scope });
  const planned = await withScope('integration:suppliers:read').run('plan', 'suppliers.csv');
  expect(planned).toMatchObject({
    code: 0,
    out: expect.stringContaining('suppliers.csv: 1 to create, 0 to update, 1 unchanged, 0 rejected'),
  });
  expect((await at.acme.get('/suppliers')).body).toMatchObject({ total: 1 });
  const refused = await withScope('integration:products:read').run('plan', 'suppliers.csv');
  expect(refused).toMatchObject({ code: 3, err: expect.stringMatching(/403: the key lacks the scope/) });
});

it('the loader asks whether a rejected row is a row of totals, in a CSV file and in a workbook', async () => {
  await at.loader.write('suppliers.csv', 'externalId;name;code\nS-1;Total Wood;T\n"Summe";;25\nS-2;;\n');
  const header = ['externalId', 'productExternalId', 'batchNumber', 'quantity'];
  await at.loader.write('batches.xlsx', makeWorkbook({ Batches: [header, ['', '', 'Grand total', 12.5]] }));
  const { out } = await at.loader.run('plan', 'suppliers.csv', 'batches.xlsx');
  const question = ' (a row of totals? Take it out of the file)';
  expect(out).toContain(`suppliers.csv, row 3: Supplier name is required${question}\n`);
  expect(out).toContain('suppliers.csv, row 4: Supplier name is required\n');
  expect(out).toMatch(/row 2: externalId is required; Product externalId is required \(a row of totals\?/);
});

it('the loader stops when the first 500 rows are all rejected, shows five of these rows, and sends no further rows', async () => {
  const rows = Array.from({ length: 3_000 }, (_, index) => `S-${index},One,Narnia`);
  await at.loader.write('suppliers.csv', ['externalId,name,country', ...rows].join('\n'));
  const { code, err } = await at.loader.run('load', 'suppliers.csv');
  expect(code).toBe(3);
  expect(err).toContain('the first 500 rows were all rejected.\n  row 2: country: expected');
  expect(err.match(/^ {2}row \d+: /gm)).toHaveLength(5);
  const { body } = await at.acme.get('/sync-runs');
  const { entities } = body as unknown as { entities: { failed: number }[] };
  expect(entities.reduce((sum, { failed }) => sum + failed, 0)).toBe(500);
});

it('a load names the write scope that its key lacks, and needs no read scope', async () => {
  await at.loader.write('suppliers.csv', 'externalId,name\nS-1,One\n');
  const { integration } = at.acme;
  const reading = openLoader({
    stack: at.stack,
    integration,
    folder: at.folder.path,
    scope: 'integration:suppliers:read',
  });
  expect(await reading.run('load', 'suppliers.csv')).toMatchObject({
    code: 3,
    err: expect.stringContaining('403: the key lacks the scope integration:suppliers:write.'),
  });
  const writing = openLoader({
    stack: at.stack,
    integration,
    folder: at.folder.path,
    scope: 'integration:suppliers:write',
  });
  expect(await writing.run('load', 'suppliers.csv')).toMatchObject({ code: 0 });
  expect(await writing.run('prune')).toMatchObject({
    code: 3,
    err: expect.stringContaining('lacked the scope integration:suppliers:read: load again with it.'),
  });
  const environment = { INTEGRATION_SYNC_KEY: 'isk_wrong' };
  const wrong = openLoader({ stack: at.stack, integration, folder: at.folder.path, environment });
  expect(await wrong.run('load', 'suppliers.csv')).toMatchObject({
    code: 3,
    err: expect.stringContaining(
      '401: the service does not take the key. Is it whole, of this service, and not expired?',
    ),
  });
});

it('the loader loads standard input, NDJSON and JSON', async () => {
  const { child, ended } = at.loader.start('load', '-', '--kind', 'suppliers');
  child.stdin?.end('externalId\tname\nS-1\tOne\n');
  expect((await ended).code).toBe(0);
  await at.loader.write(
    'products.ndjson',
    '{"externalId":"P-1","name":"Oak","contry":"SE"}\nnonsense\n{"externalId":"P-2","name":"Pine"}\n',
  );
  const lines = await at.loader.run('load', 'products.ndjson');
  expect(lines).toMatchObject({
    code: 2,
    out: expect.stringContaining('1 created, 0 updated, 0 unchanged, 2 rejected'),
  });
  const rejects = (await read('rejects/products.ndjson'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(rejects).toEqual([
    {
      externalId: 'P-1',
      name: 'Oak',
      contry: 'SE',
      '#row': 1,
      '#reason': expect.stringContaining('the nearest known one is "country"'),
    },
    { '#line': 'nonsense', '#row': 2, '#reason': expect.stringContaining('the line is no JSON') },
  ]);
  await at.loader.write(
    'batches.json',
    JSON.stringify([{ externalId: 'B-1', productExternalId: 'P-2', batchNumber: '1', quantity: 2 }]),
  );
  expect((await at.loader.run('load', 'batches.json')).code).toBe(0);
  expect(await fieldsOf('batches')).toMatchObject({ 'B-1': { quantity: 2 } });
});

it('the loader loads an Excel workbook with a sheet for each kind', async () => {
  const book = makeWorkbook({
    Notes: [['nothing to load']],
    Suppliers: [
      ['External ID', 'Name', 'Is EU origin'],
      [4711, 'Holz & Söhne', true],
      ['0042', 'Two', null],
      [47.5, 'Half', null],
    ],
    Products: [
      ['externalId', 'name', 'supplierExternalId'],
      ['P-1', 'Oak', 4711],
    ],
    Batches: [
      ['externalId', 'productExternalId', 'batchNumber', 'quantity', 'receivedDate'],
      ['B-1', 'P-1', 7, 1250.5, { day: '2026-03-31' }],
    ],
  });
  await at.loader.write('export.xlsx', book);
  const { code, out } = await at.loader.run('load', 'export.xlsx');
  expect(code).toBe(2);
  expect(out).toContain('47.5 is a number with a fraction, and no id');
  expect(await fieldsOf('suppliers')).toEqual({
    '4711': { name: 'Holz & Söhne', isEuOrigin: true },
    '0042': { name: 'Two' },
  });
  expect(await fieldsOf('batches')).toEqual({
    'B-1': { productExternalId: 'P-1', batchNumber: '7', quantity: 1250.5, receivedDate: '2026-03-31' },
  });
});

it('the loader loads an SAP export: a title, tabs, days as 20260331, numbers as 12,5-, a DOS encoding', async () => {
  const lines = [
    'Bestand vom 31.03.2026',
    '',
    'Charge\tMaterial\tNr\tMenge\tEingang',
    'Größe\tP-1\tB-1\t1.250,5\t20260331',
    'X\tP-1\tB-2\t12,5-\t00000000',
  ];
  await at.loader.write('products.csv', 'externalId,name\nP-1,Oak\n');
  await at.loader.write('bestand.txt', iconv.encode(lines.join('\r\n'), 'cp850'));
  await at.loader.write(
    'map.json',
    JSON.stringify({
      'bestand*.txt': {
        kind: 'batches',
        encoding: 'cp850',
        columns: {
          Nr: 'externalId',
          Material: 'productExternalId',
          Charge: 'batchNumber',
          Menge: 'quantity',
          Eingang: 'receivedDate',
        },
        constants: { unit: 'kg' },
      },
    }),
  );
  const { code, out, err } = await at.loader.run('load', 'products.csv', 'bestand.txt', '--map', 'map.json');
  expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining('header in row 3') });
  expect(out).toContain(
    'bestand.txt, row 5: "Menge" (quantity): expected a finite number of 0 or more, got -12.5',
  );
  expect(await fieldsOf('batches')).toEqual({
    'B-1': {
      productExternalId: 'P-1',
      batchNumber: 'Größe',
      quantity: 1250.5,
      unit: 'kg',
      receivedDate: '2026-03-31',
    },
  });
});

it('the loader exports records to a file that a plan finds unchanged, and exports later changes with --follow', async () => {
  const suppliers = Array.from({ length: 250 }, (_, index) => ({
    externalId: `S-${index}`,
    name: `Größe "${index}" 🌲`,
    certifications: ['FSC; one', 'PEFC'],
  }));
  await at.acme.post('/suppliers', { suppliers });
  await at.acme.post('/suppliers/archive', { externalIds: ['S-7'] });
  expect((await at.loader.run('export', 'suppliers', '--out', 'all')).code).toBe(0);
  const planned = await at.loader.run('plan', 'all/suppliers.ndjson', '--json');
  expect(JSON.parse(planned.out).total).toMatchObject({
    created: 0,
    updated: 0,
    unchanged: 249,
    rejected: 0,
  });

  const follower = at.loader.start('export', 'suppliers', '--follow', '--every', '1', '--from', 'place.json');
  let followed = '';
  follower.child.stdout?.on('data', (chunk: Buffer) => (followed += chunk.toString()));
  const changes = (): { syncStatus: string; item: { externalId: string; name: string } }[] =>
    followed
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  await eventually(changes, (all) => all.length === 250);
  expect(changes().filter(({ syncStatus }) => syncStatus === 'ARCHIVED')).toMatchObject([
    { item: { externalId: 'S-7' } },
  ]);
  await at.acme.post('/suppliers', { suppliers: [{ externalId: 'S-1', name: 'Uno' }] });
  await eventually(changes, (all) => all.some(({ item }) => item.name === 'Uno'));
  follower.child.kill('SIGINT');
  expect((await follower.ended).code).toBe(130);
});

it('prune archives records that a full load lacked, but no record whose row was rejected', async () => {
  const suppliers = Array.from({ length: 100 }, (_, index) => ({ externalId: `S-${index}`, name: 'old' }));
  await at.acme.post('/suppliers', { suppliers });
  // The time up to which all is known catches up with the push.
  await eventually(
    async () => (await at.acme.get('/suppliers?limit=1')).headers.get('x-next-since') ?? '',
    (next) => Date.parse(next) > Date.now() - 2_000,
    60_000,
  );
  const rows = suppliers
    .slice(5)
    .map(({ externalId }, index) => `${externalId},new,${index === 0 ? 'Narnia' : 'DE'}`);
  await at.loader.write('suppliers.csv', ['externalId,name,country', ...rows].join('\n'));
  expect((await at.loader.run('load', 'suppliers.csv')).code).toBe(2);
  const shown = await at.loader.run('prune');
  expect(shown).toMatchObject({
    code: 0,
    out: expect.stringContaining('suppliers: 5 of 100 records were not in the last load'),
  });
  expect(shown.out).toContain('Nothing is changed');
  expect(await at.loader.run('prune', '--apply', '--most', '4')).toMatchObject({
    code: 3,
    err: expect.stringContaining('5 of 100 records were not in the last load, more than 4 %'),
  });
  expect((await at.loader.run('prune', '--apply')).code).toBe(0);
  const { body } = await at.acme.get('/suppliers?limit=100');
  const archived = (body as unknown as { entities: Listed[] }).entities.filter(
    (one) => one.syncStatus === 'ARCHIVED',
  );
  expect(archived.map(({ externalId }) => externalId)).toEqual(['S-0', 'S-1', 'S-2', 'S-3', 'S-4']);
});

it('prune refuses to archive more than a share of the records, and does not count archived records', async () => {
  const suppliers = Array.from({ length: 120 }, (_, index) => ({ externalId: `S-${index}`, name: 'old' }));
  await at.acme.post('/suppliers', { suppliers });
  const externalIds = suppliers.slice(20).map(({ externalId }) => externalId);
  await at.acme.post('/suppliers/archive', { externalIds });
  await eventually(
    async () => (await at.acme.get('/suppliers?limit=1')).headers.get('x-next-since') ?? '',
    (next) => Date.parse(next) > Date.now() - 2_000,
    60_000,
  );
  const rows = suppliers.slice(3, 20).map(({ externalId }) => `${externalId},new`);
  await at.loader.write('suppliers.csv', ['externalId,name', ...rows].join('\n'));
  expect((await at.loader.run('load', 'suppliers.csv')).code).toBe(0);
  expect(await at.loader.run('prune', '--apply')).toMatchObject({
    code: 3,
    err: expect.stringContaining('3 of 20 records were not in the last load, more than 10 %'),
  });
});

it('the loader sets expectations for the kinds of a load, and refuses an invalid interval before it sends anything', async () => {
  await at.loader.write('suppliers-expected.csv', latin1(['externalId;name', 'EXP-1;A']));
  const { code } = await at.loader.run('load', 'suppliers-expected.csv', '--expect-every', '2d');
  expect(code).toBe(0);
  const expectations = async () => (await at.acme.get('/expectations')).body;
  const set = await expectations();
  expect(set).toMatchObject({ suppliers: { everyHours: 48 }, products: null, batches: null });
  for (const [command, every] of [
    ...['0h', '26', '745h', '32d', '1.5h'].map((one) => ['load', one] as const),
    ['plan', '26'] as const,
  ]) {
    const refused = await at.loader.run(command, 'suppliers-expected.csv', '--expect-every', every);
    expect(refused.code).toBe(3);
    expect(refused.err).toContain('--expect-every is a time from 1h to 31d');
  }
  const planned = await at.loader.run('plan', 'suppliers-expected.csv', '--expect-every', '1h');
  expect(planned.code).toBe(0);
  expect(await expectations()).toMatchObject({ suppliers: { everyHours: 48 } });
});

it('prune uses the previous load after a load whose key may set no expectations', async () => {
  await at.loader.write('suppliers.csv', latin1(['externalId;name', 'S-1;A']));
  expect((await at.loader.run('load', 'suppliers.csv')).code).toBe(0);
  const scope = 'integration:suppliers:read integration:suppliers:write';
  const { stack, acme, folder } = at;
  const { integration } = acme;
  const narrow = openLoader({ stack, integration, folder: folder.path, scope });
  expect(await narrow.run('load', 'suppliers.csv', '--expect-every', '1d')).toMatchObject({
    code: 3,
    err: expect.stringContaining('403: the key lacks the scope integration:expectations:write'),
  });
  expect(await at.loader.run('prune')).toMatchObject({ code: 0 });
});
