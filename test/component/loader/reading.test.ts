import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { hashOf, platform } from '../../../loader/src/platform/node.ts';
import { lookAtTable, openSource, resolveInputs } from '../../../loader/src/core/reading/inputs.ts';
import type { Rules } from '../../../loader/src/core/mapping/map.ts';
import type { Row, Source } from '../../../loader/src/core/reading/source.ts';
import { firstBytes } from '../../../loader/src/core/reading/start.ts';
import { readOpenFiles } from '../../support/open-files.ts';
import { useFolder } from '../../support/use-folder.ts';
import { realpath, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeWorkbook } from '../../support/workbooks.ts';

const folder = useFolder();

const mebibyte = 1024 * 1024;

it('the loader reads a large file in less than 4 MiB of memory', async () => {
  const path = join(folder.path, 'suppliers.csv');
  const content = Buffer.alloc(64 * mebibyte, 'a row of a file\n');
  await writeFile(path, content);
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  const hash = createHash('sha256');
  for await (const chunk of platform.stream(path)) {
    hash.update(chunk);
    most = Math.max(most, process.memoryUsage().arrayBuffers);
  }
  expect((most - before) / mebibyte).toBeLessThan(4);
  const expected = createHash('sha256').update(content).digest('hex');
  expect(hash.digest('hex')).toBe(expected);
  expect(await hashOf(path)).toBe(expected);
});

it('the loader returns the first bytes of a file, and later the whole file including these bytes', async () => {
  const path = join(folder.path, 'suppliers.csv');
  const content = Buffer.from(Array.from({ length: 40_000 }, (_, index) => `row ${index}\n`).join(''));
  await writeFile(path, content);
  const begun = await firstBytes(platform.stream(path), 200_000);
  const copies: Uint8Array[] = [];
  for await (const chunk of begun.all()) copies.push(Buffer.from(chunk));
  expect(content.subarray(0, begun.start.length).equals(begun.start)).toBe(true);
  expect(Buffer.concat(copies).equals(content)).toBe(true);
});

it.each([
  ['suppliers.csv', (name: string) => `externalId,${name}\nS-1,One\n`],
  ['suppliers.csv.gz', (name: string) => gzipSync(`externalId,${name}\nS-1,One\n`)],
  ['suppliers.ndjson', (name: string) => `{"externalId":"S-1","${name}":"One"}\n`],
  [
    'suppliers.xlsx',
    (name: string) =>
      makeWorkbook({
        Suppliers: [
          ['externalId', name],
          ['S-1', 'One'],
        ],
      }),
  ],
])('no row of %s is read once another file is written in its place', async (file, contentOf) => {
  const path = join(folder.path, file);
  await writeFile(path, contentOf('name'));
  const [input] = await resolveInputs({ files: [path], map: new Map(), rules: {} });
  if (input === undefined) throw new Error('there is no input');
  const source = await openSource(input);
  expect((await Array.fromAsync(source.rows())).flat()).toHaveLength(1);
  await writeFile(path, contentOf('email'));
  const rows: Row[] = [];
  const reading = (async () => {
    for await (const some of source.rows()) rows.push(...some);
  })();
  await expect(reading).rejects.toThrow(
    `${file} was written to since the load began: load it once it is whole.`,
  );
  expect(rows).toEqual([]);
});

const suppliers = Array.from({ length: 30_000 }, (_, at) => ({
  externalId: `S-${at}`,
  name: `Name ${at}`.padEnd(50),
}));
const lines = suppliers.map(({ externalId, name }) => `${externalId};${name}\n`).join('');

it.each([
  ['suppliers.csv', `externalId;name\n${lines}`],
  ['suppliers.csv.gz', gzipSync(`externalId;name\n${lines}`)],
  ['suppliers.ndjson', suppliers.map((one) => `${JSON.stringify(one)}\n`).join('')],
  ['suppliers.json', JSON.stringify(suppliers)],
  [
    'suppliers.xlsx',
    makeWorkbook({ Suppliers: [['externalId', 'name'], ...suppliers.map((one) => Object.values(one))] }),
  ],
])('%s is closed after all or some of its rows are read', async (file, content) => {
  const path = join(folder.path, file);
  await writeFile(path, content);
  const [input] = await resolveInputs({ files: [path], map: new Map(), rules: {} });
  if (input === undefined) throw new Error('there is no input');
  await (await lookAtTable(input)).open();
  const source = await openSource(input);
  for await (const _ of source.rows()) break;
  // Node 26 ends a process when it garbage-collects the handle of an open file.
  expect(await readOpenFiles()).not.toContain(await realpath(path));
});

it('reading a file fails if the file is truncated between two records meanwhile', async () => {
  const path = join(folder.path, 'suppliers.csv');
  // The loader reads 512 KiB at a time, which is a whole number of these records.
  const records = ['externalId;name', ...suppliers.map(({ externalId, name }) => `${externalId};${name}`)];
  await writeFile(path, records.map((record) => `${record.slice(0, 63).padEnd(63)}\n`).join(''));
  const [input] = await resolveInputs({ files: [path], map: new Map(), rules: {} });
  if (input === undefined) throw new Error('there is no input');
  const source = await openSource(input);
  let read = 0;
  const reading = (async () => {
    for await (const rows of source.rows()) {
      read += rows.length;
      if (read === 512 * 16 - 1) await truncate(path);
    }
  })();
  await expect(reading).rejects.toThrow('suppliers.csv was written to since the load began');
  expect(read).toBe(512 * 16 - 1);
});

it('a file that is removed while its rows are read is read to its end', async () => {
  const path = join(folder.path, 'suppliers.csv');
  await writeFile(path, `externalId;name\n${lines}`);
  const [input] = await resolveInputs({ files: [path], map: new Map(), rules: {} });
  if (input === undefined) throw new Error('there is no input');
  const batches: number[] = [];
  for await (const rows of (await openSource(input)).rows()) {
    await rm(path, { force: true });
    batches.push(rows.length);
  }
  expect(batches.length).toBeGreaterThan(1);
  expect(batches.reduce((sum, rows) => sum + rows, 0)).toBe(30_000);
});

const item = { externalId: 'B-1', productExternalId: 'P-1', batchNumber: 'Los "1"; klein', quantity: 1250.5 };

it.each([
  [
    'batches.csv',
    `externalId;productExternalId;batchNumber;quantity\r\nB-0;P-1;1;2,5\r\nB-1;P-1;"Los ""1""; klein";1.250,5\r\n`,
  ],
  ['batches.ndjson', `{"externalId":"B-0"}\n${JSON.stringify(item)}\n`],
  ['batches.json', JSON.stringify([{ externalId: 'B-0' }, item])],
  [
    'batches.xlsx',
    makeWorkbook({ Batches: [Object.keys(item), ['B-0', 'P-1', '1', 2], Object.values(item)] }),
  ],
])('an item of %s is read the same from the file and from its stored row', async (name, content) => {
  const path = join(folder.path, name);
  await writeFile(path, content);
  const [input] = await resolveInputs({ files: [path], map: new Map(), rules: {} });
  if (input === undefined) throw new Error('there is no input');
  const source = await openSource(input);
  const rows = (await Array.fromAsync(source.rows())).flat();
  expect(rows.at(-1)?.made).toEqual(item);
  expect(source.make(rows.at(-1)?.raw)).toEqual(item);
});

it('an item of a JSON array with the character U+FFFD is parsed again from its stored row without a change', async () => {
  const path = join(folder.path, 'suppliers.json');
  const supplier = { externalId: 'S-1', name: 'caf\ufffd' };
  await writeFile(path, JSON.stringify([supplier]));
  const [input] = await resolveInputs({ files: [path], map: new Map(), rules: {} });
  if (input === undefined) throw new Error('there is no input');
  const source = await openSource(input);
  const [row] = (await Array.fromAsync(source.rows())).flat();
  expect([row?.made, source.make(row?.raw)]).toEqual([supplier, supplier]);
});

async function sourceOf(name: string, content: Buffer, rules: Rules = {}): Promise<Source> {
  const path = join(folder.path, name);
  await writeFile(path, content);
  const [input] = await resolveInputs({ files: [path], map: new Map(), rules });
  if (input === undefined) throw new Error('there is no input');
  return openSource(input);
}

/** The source that reads standard input. */
const sourceOfInput = (pieces: readonly Buffer[], rules: Rules = {}): Promise<Source> =>
  openSource({ path: '-', kind: 'suppliers', format: 'csv', sheet: undefined, rules }, Readable.from(pieces));

it('the loader names the record of a byte that is no UTF-8', async () => {
  const source = await sourceOf(
    'suppliers.ndjson',
    Buffer.from('{"externalId":"S-1","name":"caf\xe9"}\n', 'latin1'),
  );
  const [row] = (await Array.fromAsync(source.rows())).flat();
  expect(row?.made).toMatchObject({ reason: 'the line has a byte that is no UTF-8', id: 'S-1' });
});

it('the loader accepts the character U+FFFD where the file itself contains it', async () => {
  const supplier = { externalId: 'S-1', name: 'caf\ufffd' };
  const source = await sourceOf('suppliers.ndjson', Buffer.from(`${JSON.stringify(supplier)}\n`));
  expect((await Array.fromAsync(source.rows())).flat()).toMatchObject([{ made: supplier }]);
});

it('the loader refuses a JSON array that is no UTF-8', async () => {
  const array = Buffer.from('[{"externalId":"S-1","name":"caf\xe9"}]', 'latin1');
  await expect(sourceOf('suppliers.json', array)).rejects.toThrow(
    'suppliers.json is no UTF-8, as JSON has to be',
  );
});

it('the loader stops where a byte of standard input is no UTF-8, also beyond the first MiB', async () => {
  const row = 'S-1;One\n';
  const bytes = Buffer.from(`externalId;name\n${row.repeat(200_000)}S-2;caf\xe9\n`, 'latin1');
  const pieces = Array.from({ length: Math.ceil(bytes.length / 65_536) }, (_, at) =>
    bytes.subarray(at * 65_536, (at + 1) * 65_536),
  );
  const source = await sourceOfInput(pieces);
  await expect(Array.fromAsync(source.rows())).rejects.toThrow(
    'standard input, up to line 200002: a byte has no character in utf-8: say --encoding, such as windows-1252.',
  );
});

const lots = {
  english:
    'Item No.,Variant Code,Lot No.,Description,Test Quality,Certificate Number,Blocked,Inventory,Expired Inventory,DDS Reference Number,DDS Verification No.\r\n' +
    '1000,RED,LOT-1,Oak,Good,C-1,No,"1,250.5",0,26DE4711ABCD12,V7K2M9QX\r\n1001,,LOT-1,Ash,,,No,7.5,0,,\r\n',
  german:
    'Artikelnr.;Variantencode;Chargennr.;Beschreibung;Testqualität;Zertifikatnummer;Gesperrt;Lagerbestand;Abgelaufener Lagerbestand;DDS-Referenznummer;DDS-Verifizierungsnr.\r\n' +
    '1000;RED;LOT-1;Eiche;Gut;C-1;Nein;1.250,5;0;26DE4711ABCD12;V7K2M9QX\r\n1001;;LOT-1;Esche;;;Nein;7,5;0;;\r\n',
};

it.each(Object.entries(lots))(
  'the loader finds the fields of a Business Central export of lots with %s headers without a map',
  async (language, content) => {
    const source = await sourceOf(`batches-${language}.csv`, Buffer.from(content));
    const rows = (await Array.fromAsync(source.rows())).flat();
    expect(rows.map(({ made }) => made)).toEqual([
      {
        externalId: '1000/RED/LOT-1',
        productExternalId: '1000',
        batchNumber: 'LOT-1',
        quantity: 1250.5,
        ddsReferenceNumber: '26DE4711ABCD12',
        ddsVerificationNumber: 'V7K2M9QX',
      },
      { externalId: '1001/LOT-1', productExternalId: '1001', batchNumber: 'LOT-1', quantity: 7.5 },
    ]);
    expect(source.make(rows[0]?.raw)).toEqual(rows[0]?.made);
    expect(source.notes.join('; ')).toMatch(/externalId of ".+", ".+", ".+"/);
  },
);

it.each(['DDS Reference Number', 'DDS-Referenznummer', 'dds_reference_no.'])(
  'the loader finds %s in a file with columns named as the fields, and ignores its other columns',
  async (header) => {
    const content = `externalId,productExternalId,batchNumber,Inventory,${header},DDS Verification No.\nB-1,P-1,1,5,R-1,V-1\n`;
    const source = await sourceOf('batches.csv', Buffer.from(content));
    expect((await Array.fromAsync(source.rows())).flat().map(({ made }) => made)).toEqual([
      {
        externalId: 'B-1',
        productExternalId: 'P-1',
        batchNumber: '1',
        ddsReferenceNumber: 'R-1',
        ddsVerificationNumber: 'V-1',
      },
    ]);
    expect(source.notes).toContain('not used: "Inventory"');
  },
);

it.each([
  ['utf-16le', Buffer.from('externalId;name\r\nS-1;Ä\r\n', 'utf16le')],
  ['utf-16be', Buffer.from('externalId;name\r\nS-1;Ä\r\n', 'utf16le').swap16()],
])('a file of %s is read without a BOM', async (encoding, content) => {
  const source = await sourceOf('suppliers.csv', content);
  const rows = (await Array.fromAsync(source.rows())).flat();
  expect(source.notes[0]).toMatch(encoding);
  expect(rows.map(({ made }) => made)).toEqual([{ externalId: 'S-1', name: 'Ä' }]);
});

it('a header that is repeated between rows, as in joined files, is no row', async () => {
  const parts = ['S-1', 'S-2'].map((id) => `\ufeffexternalId;name\r\n${id};externalId\r\n`);
  const source = await sourceOf('suppliers.csv', Buffer.from(parts.join('')));
  const rows = (await Array.fromAsync(source.rows())).flat();
  expect(rows.map(({ number, made }) => [number, made])).toEqual([
    [2, { externalId: 'S-1', name: 'externalId' }],
    [4, { externalId: 'S-2', name: 'externalId' }],
  ]);
});

it('a row with a blank before an opening quote is rejected, but blanks and quotes within a quoted cell are accepted', async () => {
  const rest = 'S-2," ""Holz"" AB",SE\nS-3,"A, ""B""",SE\nS-4," "", ",SE\n';
  const content = `externalId,name,country\nS-1, "Holz AB", SE\n${rest}`;
  const source = await sourceOf('suppliers.csv', Buffer.from(content));
  const rows = (await Array.fromAsync(source.rows())).flat();
  expect(rows.map(({ made }) => made)).toMatchObject([
    { id: 'S-1', reason: expect.stringContaining('a blank is before a quote') },
    { externalId: 'S-2', name: ' "Holz" AB' },
    { externalId: 'S-3', name: 'A, "B"' },
    { externalId: 'S-4', name: ' ", ' },
  ]);
});

it('a header that is repeated between rows of a sheet is no row', async () => {
  const header = ['externalId', 'name'];
  const rows = [header, ['S-1', 'externalId'], header, ['S-2', 5]];
  const source = await sourceOf('suppliers.xlsx', makeWorkbook({ Suppliers: rows }));
  const read = (await Array.fromAsync(source.rows())).flat();
  expect(read.map(({ number, made }) => [number, made])).toEqual([
    [2, { externalId: 'S-1', name: 'externalId' }],
    [4, { externalId: 'S-2', name: '5' }],
  ]);
});

it.each(['\ufeff', ''])(
  'a JSON array in UTF-16 that begins with %j is refused for its encoding',
  async (start) => {
    const content = Buffer.from(`${start}[{"externalId":"S-1","name":"A"}]`, 'utf16le');
    await expect(sourceOf('suppliers.json', content)).rejects.toThrow('is no UTF-8, as JSON has to be');
  },
);

it.each([
  ['windows-1252', Buffer.from('M\x81ller', 'latin1')],
  ['UTF_8', Buffer.from('M\xfcller', 'latin1')],
  ['shift_jis', Buffer.from('\x82', 'latin1')],
])('the loader stops where a byte has no character in the named encoding %s', async (encoding, name) => {
  const bytes = Buffer.concat([Buffer.from('externalId;name\nS-1;One\nS-2;'), name]);
  await expect(sourceOf('suppliers.csv', bytes, { encoding })).rejects.toThrow(
    /suppliers\.csv, (?:up to )?line 3: .*byte/,
  );
  const rows = Buffer.from(`externalId;name\n${'S-1;One\n'.repeat(200_000)}`);
  const source = await sourceOfInput([rows, Buffer.concat([Buffer.from('S-2;'), name])], { encoding });
  await expect(Array.fromAsync(source.rows())).rejects.toThrow(/standard input, .*line 200002: .*byte/);
});

it.each(['utf-16', 'UTF16'])(
  'a file of the encoding %s has one BOM, and so have its rejected rows',
  async (encoding) => {
    const bytes = Buffer.from('\ufeffname;externalId\nÄ;S-1\n', 'utf16le');
    const { notes, rejects } = await sourceOf('suppliers.csv', bytes, { encoding });
    expect(notes[0]).toMatch(/^utf-16le/);
    const line = rejects.line({ raw: 'Ä;S-1\n', number: 2 }, 'why');
    expect(Buffer.from(line).toString('utf16le')).toBe('Ä;S-1;2;why\r\n');
  },
);

it('a packed workbook is refused with the advice to unpack it', async () => {
  const packed = gzipSync(makeWorkbook({ Suppliers: [['externalId', 'name']] }));
  await expect(sourceOf('suppliers.xlsx.gz', packed)).rejects.toThrow(
    'suppliers.xlsx.gz is packed by gzip: unpack it.',
  );
});

it.each([
  ['suppliers.ndjson', '{"externalId":"S-1","name":"One","country":1e999}\n'],
  ['suppliers.json', '[{"externalId":"S-1","name":"One","country":1e999}]'],
])('a rejected row of %s has no null in place of an infinite number', async (name, content) => {
  const source = await sourceOf(name, Buffer.from(content));
  const [row] = (await Array.fromAsync(source.rows())).flat();
  if (row === undefined) throw new Error('there is no row');
  expect(row.made).toMatchObject({ reason: 'country: a number that is too large' });
  const rejected = Buffer.from(source.rejects.line(row, 'why')).toString();
  expect(JSON.parse(rejected)).toMatchObject({ country: 'Infinity' });
});
