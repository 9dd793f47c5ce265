// The core of the loader in a page: the same items and rejects as the command's, and no code of Node.js.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { makeWorkbook } from '../../support/workbooks.ts';
import { array, assert, asyncProperty, constantFrom, record, string } from 'fast-check';
import iconv from 'iconv-lite';
import { expect, it } from 'vitest';
import { openOnBoth } from '../../support/both-platforms.ts';
import { pageCore } from '../../support/page-core.ts';
import { useFolder } from '../../support/use-folder.ts';

const folder = useFolder();

it('the loader for browsers has no code of Node.js and no tables of encodings, and is at most 30 kB compressed', async () => {
  const { code } = await pageCore();
  expect(code).not.toMatch(/node:|\bBuffer\b|process\.|require\(|iconv/);
  expect(gzipSync(code, { level: 9 }).length).toBeLessThanOrEqual(30_000);
});

const encodings = ['utf-8', 'windows-1252', 'iso-8859-15', 'utf-16le', 'utf-16be', 'iso-8859-1', 'shift_jis'];

it.each(encodings)(
  'the loader for browsers reads a file in %s as the command line loader does, and writes rejects in the same encoding',
  async (encoding) => {
    const path = join(folder.path, 'suppliers.csv');
    const name = encoding === 'shift_jis' ? '木材 株式会社' : 'Sägewerk "Müller"';
    await writeFile(path, iconv.encode(`externalId;name\r\nS-1;${name}\r\nS-2;x;y\r\n`, encoding));
    const source = await openOnBoth(path, { encoding, quotes: false });
    const [row] = (await Array.fromAsync(source.rows())).flat();
    expect(row?.made).toEqual({ externalId: 'S-1', name });
  },
);

it('the loader for browsers refuses a file in a DOS encoding, and names the encoding', async () => {
  const page = await pageCore();
  page.useFiles(new Map([['suppliers.csv', new Blob(['externalId,name\nS-1,One\n'])]]));
  const map = page.parseMap({ '*': { encoding: 'cp850' } }, 'map.json');
  const [input] = await page.resolveInputs({ files: ['suppliers.csv'], map, rules: {} });
  if (input === undefined) throw new Error('there is no input');
  await expect(page.openSource(input)).rejects.toThrow('"cp850" is no encoding');
});

const tables = record({
  delimiter: constantFrom(';', ',', '\t'),
  end: constantFrom('\r\n', '\n', '\r'),
  encoding: constantFrom('utf-8', 'utf-8-bom', 'windows-1252', 'utf-16le'),
  names: array(
    // Excel writes ="01" for the text 01.
    string({
      unit: constantFrom(...Array.from('abcÄöß€ ;,\t"\n\'=-|0')),
      minLength: 1,
      maxLength: 12,
    }).filter((name) => !/^=".*"$/s.test(name)),
    { minLength: 1, maxLength: 30 },
  ),
});

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;

it('the loader for browsers reads the same values from any CSV table as the command line loader does', async () => {
  await assert(
    asyncProperty(tables, async ({ delimiter, end, encoding, names }) => {
      const path = join(folder.path, 'suppliers.csv');
      const rows = names.map((name, at) => `${at + 1}${delimiter}${quoted(name)}`);
      const text = [`externalId${delimiter}name`, ...rows, ''].join(end);
      await writeFile(
        path,
        encoding === 'utf-8-bom' ? Buffer.from(`\ufeff${text}`) : iconv.encode(text, encoding),
      );
      const said = encoding === 'utf-8-bom' ? {} : { encoding };
      const source = await openOnBoth(path, { ...said, delimiter });
      const made = (await Array.fromAsync(source.rows())).flat().map((row) => row.made);
      expect(made).toEqual(names.map((name, at) => ({ externalId: String(at + 1), name })));
    }),
    { numRuns: 60 },
  );
});

it('the loader for browsers reads the shared strings of all rows of a workbook, as the command line loader does', async () => {
  const path = join(folder.path, 'suppliers.xlsx');
  // More than a first look keeps.
  const rows = Array.from({ length: 1_500 }, (_, at) => [`S-${at}`, `Müller "${at}" & Söhne <€>`]);
  const sheet = [['externalId', 'name'], ...rows, ['', '']];
  await writeFile(path, makeWorkbook({ Suppliers: sheet }, {}, { isShared: true }));
  const source = await openOnBoth(path);
  const made = (await Array.fromAsync(source.rows())).flat().map((row) => row.made);
  expect(made).toEqual(rows.map(([externalId, name]) => ({ externalId, name })));
});

it.each<[string, Buffer]>([
  ['suppliers.csv.gz', gzipSync('externalId,name\nS-1,One\nS-2\n')],
  ['suppliers.csv.gz', gzipSync('externalId,name\nS-1,One\n').subarray(0, 30)],
  ['suppliers.ndjson', Buffer.from('{"externalId":"S-1","name":"ä"}\nno\n{"externalId":"S-2","name":"\ud83c\udf32"}\n')],
  ['suppliers.json', Buffer.from('{"suppliers":[{"externalId":"S-1","name":"One"},7]}')],
  ['suppliers.xlsx', makeWorkbook({ Suppliers: [['externalId', 'name'], ['S-1', 'Ä'], [7, true], [1e16, 'x']] })],
  ['suppliers.csv', iconv.encode('externalId,name\nS-1,Müller\nS-2,50 € für Å\n', 'windows-1252')],
  ['suppliers.csv', Buffer.from('externalId,name\nS-1,"One\n')],
  ['suppliers.csv', Buffer.concat([Buffer.from('externalId;name\nS-1;M'), Buffer.from([0x81]), Buffer.from('ller\n')])],
  ['suppliers.csv', Buffer.from('Nr;Firma\n1;One\n')],
])('the loader for browsers reads the same as the command line loader from %s (%#)', async (name, content) => {
  const path = join(folder.path, name);
  await writeFile(path, content);
  // What both refuse is compared, too.
  expect(await openOnBoth(path).catch(String)).toBeDefined();
}); // oxfmt-ignore
