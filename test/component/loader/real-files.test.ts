import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { makeWorkbook, type WrittenCell } from '../../support/workbooks.ts';
import iconv from 'iconv-lite';
import { expect, it } from 'vitest';
import { Wrong } from '../../../loader/src/core/mapping/convert.ts';
import type { Source } from '../../../loader/src/core/reading/source.ts';
import { openOnBoth } from '../../support/both-platforms.ts';
import { useFolder } from '../../support/use-folder.ts';

// Files as systems write them: each comes out right, or is refused by name, and none is damaged in silence. Command and page
// find the same in each.

const folder = useFolder();

async function sourceOf(name: string, content: string | Buffer, rules: object = {}): Promise<Source> {
  const path = join(folder.path, name);
  await writeFile(path, content);
  return openOnBoth(path, rules);
}

async function read(...of: Parameters<typeof sourceOf>): Promise<unknown[]> {
  const source = await sourceOf(...of);
  const rows = (await Array.fromAsync(source.rows())).flat();
  // The item of a row is made once more where its reference was not found.
  expect(rows.map(({ raw }) => source.make(raw))).toEqual(rows.map(({ made }) => made));
  return rows.map(({ made }) => (made instanceof Wrong ? `wrong: ${made.reason}` : made));
}

const lines = (...texts: string[]): string => `${texts.join('\r\n')}\r\n`;

/** A workbook whose second style has the format. */
const withFormat = (code: string, rows: string): Buffer =>
  makeWorkbook(
    { Suppliers: [] },
    {
      'xl/worksheets/sheet1.xml': `<worksheet><sheetData>${rows}</sheetData></worksheet>`,
      'xl/styles.xml': `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="${code}"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="164"/></cellXfs></styleSheet>`,
    },
  );
const suppliersOf = (id: string): string =>
  `<row r="1"><c r="A1" t="str"><v>externalId</v></c><c r="B1" t="str"><v>name</v></c></row><row r="2"><c r="A2" s="1"><v>${id}</v></c><c r="B2" t="str"><v>One</v></c></row>`;

const workbook = (...rows: WrittenCell[][]): Buffer => makeWorkbook({ Suppliers: rows });

const sap = { kind: 'batches', columns: { Charge: 'batchNumber', Material: 'productExternalId', Nr: 'externalId', Menge: 'quantity', Eingang: 'receivedDate' } }; // oxfmt-ignore
const sapItem = (more: object = {}): object => ({
  externalId: 'B-1',
  productExternalId: 'P-1',
  batchNumber: 'L1',
  ...more,
});

it.each<[string, string, string | Buffer, object, unknown[]]>([
  [
    'a list of ALV: a title, dashes, bars at both ends, blanks, quotes, a second page',
    'bestand.txt',
    lines(
      '31.03.2026          Bestand, Werk 100, Lager 1, Seite 1',
      '',
      '-----------------------------------------------',
      '|Nr        |Material|Charge    |     Menge|Eingang   |',
      '-----------------------------------------------',
      '|ALV-1     |P-1     |"Los" 1   |  1.250,5 |31.03.2026|',
      '|ALV-2     |P-1     |L2        |     12,5-|00.00.0000|',
      '-----------------------------------------------',
      '31.03.2026          Bestand                     2',
      '|Nr        |Material|Charge    |     Menge|Eingang   |',
      '|ALV-3     |P-1     |L|3       |     1,000|31.03.2026|',
      '-----------------------------------------------',
    ),
    sap,
    [
      { externalId: 'ALV-1', productExternalId: 'P-1', batchNumber: '"Los" 1', quantity: 1250.5, receivedDate: '2026-03-31' }, // oxfmt-ignore
      { externalId: 'ALV-2', productExternalId: 'P-1', batchNumber: 'L2', quantity: -12.5 },
      'wrong: 8 cells where the header has 7: a cell has a line end or a "|"',
    ],
  ],
  [
    'SAP with tabs, an empty first column and an empty line below the header',
    'bestand.txt',
    iconv.encode(lines('Bestand', '', '\tNr\tMaterial\tCharge', '', '\tB-1\tP-1\tGröße'), 'cp1252'),
    sap,
    [sapItem({ batchNumber: 'Größe' })],
  ],
  [
    'Dynamics: times at midnight in the American form',
    'batches.csv',
    lines('externalId,productExternalId,batchNumber,receivedDate', 'B-1,P-1,L1,12/31/2025 12:00:00 AM'),
    {},
    [sapItem({ receivedDate: '2025-12-31' })],
  ],
  [
    'SQL Server: a time of day',
    'batches.csv',
    lines('externalId;productExternalId;batchNumber;receivedDate', 'B-1;P-1;L1;2025-12-31 13:45:00'),
    {},
    [sapItem({ receivedDate: '2025-12-31' })],
  ],
  [
    'Oracle: months by name, years of two digits',
    'batches.csv',
    lines(
      'externalId,productExternalId,batchNumber,receivedDate,expiryDate',
      'B-1,P-1,L1,31-DEC-25,31-Jan-2027',
    ),
    {},
    [sapItem({ receivedDate: '2025-12-31', expiryDate: '2027-01-31' })],
  ],
  [
    'an answer of OData 4',
    'suppliers.json',
    '{"@odata.context":"c","value":[{"@odata.etag":"e","externalId":"S-1","name":"One"}],"@odata.nextLink":"n"}',
    {},
    [{ externalId: 'S-1', name: 'One' }],
  ],
  [
    'an answer of OData 2, as SAP Gateway writes it',
    'batches.json',
    '{"d":{"results":[{"__metadata":{"uri":"u"},"Nr":"B-1","Material":"P-1","Charge":"L1","Menge":"12.500","Eingang":"/Date(1767139200000)/","ToPlant":{"__deferred":{}}}]}}',
    sap,
    [sapItem({ quantity: 12.5, receivedDate: '2025-12-31' })],
  ],
  [
    'countries by name and by three letters',
    'suppliers.csv',
    lines('externalId;name;country', 'S-1;One;Deutschland', 'S-2;Two;SWE', 'S-3;Three;Narnia'),
    {},
    [
      { externalId: 'S-1', name: 'One', country: 'DE' },
      { externalId: 'S-2', name: 'Two', country: 'SE' },
      { externalId: 'S-3', name: 'Three', country: 'Narnia' },
    ],
  ],
  [
    'a file without a header, by positions',
    'suppliers.csv',
    lines('Export 7', 'S-1;x;"One; two";D'),
    { columns: ['externalId', null, 'name', 'country'], skip: 1, values: { D: 'DE' } },
    [{ externalId: 'S-1', name: 'One; two', country: 'DE' }],
  ],
  [
    'a workbook without a header, by positions',
    'suppliers.xlsx',
    workbook(['S-1', 'x', 'One']),
    { columns: ['externalId', null, 'name'] },
    [{ externalId: 'S-1', name: 'One' }],
  ],
  [
    'Excel: ids with leading zeros by their format',
    'suppliers.xlsx',
    withFormat('0000000000', suppliersOf('100001')),
    {},
    [{ externalId: '0000100001', name: 'One' }],
  ],
  [
    'Excel: ids with a text in their format',
    'suppliers.xlsx',
    withFormat('&quot;S-&quot;0000', suppliersOf('42')),
    {},
    [{ externalId: 'S-0042', name: 'One' }],
  ],
  [
    'Excel: ids with thousands separators, which are digits',
    'suppliers.xlsx',
    withFormat('#,##0', suppliersOf('100001')),
    {},
    [{ externalId: '100001', name: 'One' }],
  ],
  [
    'Excel: ids in a format that cannot be followed',
    'suppliers.xlsx',
    withFormat('0.00 &quot;€&quot;', suppliersOf('7')),
    {},
    ['wrong: externalId: 7 is shown by the format 0.00 "€": make the column text'],
  ],
  [
    'Excel: an id that Excel took for a day',
    'suppliers.xlsx',
    workbook(['externalId', 'name'], [{ day: '2026-03-01' }, 'One']),
    {},
    ['wrong: externalId: 2026-03-01 is a day, and no id: make the column text'],
  ],
  [
    'ids with blanks around them',
    'suppliers.csv',
    lines('externalId,name', 'S-1   , One ', '"  S-2",Two'),
    {},
    [
      { externalId: 'S-1', name: ' One ' },
      { externalId: 'S-2', name: 'Two' },
    ],
  ],
  [
    'rejects that a spreadsheet must not calculate',
    'suppliers.csv',
    lines(
      `externalId;'=name;#row;#reason`,
      `S-1;"'=HYPERLINK(""x"")";2;no`,
      `S-2;'plain;3;no`,
      `S-3;-5;4;no`,
    ),
    { columns: { externalId: 'externalId', '=name': 'name' } },
    [
      { externalId: 'S-1', name: '=HYPERLINK("x")' },
      { externalId: 'S-2', name: "'plain" },
      { externalId: 'S-3', name: '-5' },
    ],
  ],
  [
    'Akeneo: semicolons in quotes, line ends in cells, a BOM',
    'products.csv',
    `\ufeff${lines('externalId;name;category', 'P-1;"Oak; planed\nlong";wood')}`,
    {},
    [{ externalId: 'P-1', name: 'Oak; planed\nlong', category: 'wood' }],
  ],
  [
    'Shopify: commas, quotes, HTML in a column that is not used',
    'products.csv.gz',
    gzipSync('Handle,Title,Body (HTML)\noak,"Oak, planed","<p>""x"", y</p>"\n'),
    { columns: { Handle: 'externalId', Title: 'name', 'Body (HTML)': null } },
    [{ externalId: 'oak', name: 'Oak, planed' }],
  ],
  [
    'Numbers and Unix: UTF-16 with tabs',
    'suppliers.txt',
    iconv.encode('\ufeffexternalId\tname\nS-1\tÅse\n', 'utf-16le'),
    {},
    [{ externalId: 'S-1', name: 'Åse' }],
  ],
  [
    'a header below a title of many cells in which a cell has the delimiter in quotes',
    'suppliers.csv',
    lines('Lieferanten;;', 'externalId;"name";"Notiz; lang"', 'S-1;One;"a;b;c;d"'),
    {},
    [{ externalId: 'S-1', name: 'One' }],
  ],
])('the loader reads a file as systems write it: %s', async (_what, name, content, rules, items) => {
  expect(await read(name, content, rules)).toEqual(items);
});

it.each([
  ['an ALV list without bars', lines('externalId\tname', '--------------------', 'S-1\tOne', '-\t-----x', '--\t--', '---------')],
  ['dashes in the first cell', lines('externalId;name', '-----;', 'S-1;One', '-;-----x', '--;--', '-----;-----')],
])('lines of dashes alone are no rows, and lines of dashes below the header do not count: %s', async (_what, text) => {
  const source = await sourceOf('suppliers.txt', text);
  const rows = (await Array.fromAsync(source.rows())).flat();
  expect(rows.map(({ number, made }) => [number, made])).toEqual([
    [3, { externalId: 'S-1', name: 'One' }],
    [4, { externalId: '-', name: '-----x' }],
    [5, { externalId: '--', name: '--' }],
  ]);
  expect([source.rowsBefore, source.total]).toEqual([2, 4]);
}); // oxfmt-ignore

it('a line of dashes is a row with a value, unless dashes also underline the header', async () => {
  const source = await sourceOf('suppliers.txt', lines('externalId', 'S-1', '-----'), {
    constants: { name: 'x' },
  });
  const rows = (await Array.fromAsync(source.rows())).flat();
  expect(rows.map(({ made }) => made)).toEqual([
    { externalId: 'S-1', name: 'x' },
    { externalId: '-----', name: 'x' },
  ]);
});

it('the loader reports the encoding, the header row and unusual values of real files', async () => {
  const list = await sourceOf(
    'suppliers.txt',
    lines('-----', '|externalId|name|country|', '-----', '|S-1       |One |SWE    |'),
  );
  expect(list.notes).toEqual(['utf-8', 'a list of SAP', 'header in row 2', '"SWE" is SE']);
  const timed = await sourceOf(
    'batches.csv',
    lines('externalId;productExternalId;batchNumber;receivedDate', 'B-1;P-1;L1;31.03.2026 13:45'),
  );
  expect(timed.notes).toContain('days without their times, as in "31.03.2026 13:45"');
  const header = ['externalId', 'productExternalId', 'batchNumber', 'receivedDate', 'expiryDate'];
  const days = [{ day: '2026-03-31T13:45:00Z' }, { day: '2026-04-30' }];
  const book = await sourceOf(
    'batches.xlsx',
    makeWorkbook({ Batches: [header, ['B-1', 'P-1', 'L1', ...days]] }),
  );
  expect(book.notes).toEqual(['days without their times, as in "2026-03-31T13:45:00.000Z"']);
});

it('the loader writes rejects of an SAP list as CSV without formulas, and loads them again', async () => {
  const source = await sourceOf(
    'suppliers.txt',
    lines('-----', '|externalId|name      |', '-----', '|S-1       |=1+1;"x"  |'),
  );
  const [row] = (await Array.fromAsync(source.rows())).flat();
  const written = Buffer.concat([
    source.rejects.head,
    source.rejects.line(row ?? { raw: '', number: 0 }, '@no'),
  ]).toString();
  expect(written.split('\r\n')).toEqual(['externalId;name;#row;#reason', `S-1;"'=1+1;""x""";4;'@no`, '']);
  expect(source.rejects.extension).toBe('.txt');
  const again = await sourceOf('suppliers.txt', written);
  expect(again.isRejects).toBe(true);
  const [taken] = (await Array.fromAsync(again.rows())).flat();
  expect(taken?.made).toEqual({ externalId: 'S-1', name: '=1+1;"x"' });
});

const good = lines('externalId,name', 'S-1,One');

it.each<[string, string | Buffer, string | RegExp, object?]>([
  ['suppliers.xls', Buffer.from('d0cf11e0a1b11ae1', 'hex'), 'is a workbook of Excel 97 (.xls), or has a password'],
  ['suppliers.xls', '<html><table><tr><td>x</td></tr></table></html>', 'is a page of HTML, as some systems write for Excel'],
  ['suppliers.xls', '\ufeff<?xml version="1.0"?><Workbook/>', 'is XML, as some systems write for Excel'],
  ['suppliers.xls', good, 'is text by its content: name it .csv or .txt'],
  ['suppliers.xls', workbook(['externalId']), 'is an Excel workbook by its content: name it .xlsx'],
  ['suppliers.ods', 'PK\u0003\u0004................mimetypeapplication/vnd.oasis.opendocument.spreadsheet', 'is an OpenDocument spreadsheet (.ods)'],
  ['suppliers.xlsx', 'PK\u0003\u0004................mimetypeapplication/vnd.oasis.opendocument.spreadsheet', 'is an OpenDocument spreadsheet (.ods)'],
  ['suppliers.csv', workbook(['externalId']), 'is an Excel workbook by its content: name it .xlsx'],
  ['suppliers.csv', gzipSync(good), 'is packed by gzip: unpack it'],
  ['suppliers.csv', '%PDF-1.7', 'is a PDF'],
  ['suppliers.zip', 'PK\u0003\u0004 suppliers.csv', 'is a zip archive: unpack it'],
  ['suppliers.csv', lines('externalId,name,name', 'S-1,One,Two'), 'the columns 2 and 3 are all named "name"'],
  ['suppliers.json', '[{"externalId":"S-1"}]', 'A map names columns by position, and JSON has names', { columns: ['externalId', 'name'] }],
  ['suppliers.csv', good, '"dates" of "*" is not a format', { dates: 'soon' }],
  ['suppliers.csv', good, 'says "nme" for "nme", which is no field of suppliers', { columns: ['externalId', 'nme'] }],
])('the file %s is refused with its reason (%#)', async (name, content, expected, rules) => {
  await expect(sourceOf(name, content, rules)).rejects.toThrow(expected);
}); // oxfmt-ignore
