import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { makeWorkbook, type ZipForm } from '../../support/workbooks.ts';
import { describe, expect, it } from 'vitest';
import { Shown, Wrong, type Cell } from '../../../loader/src/core/mapping/convert.ts';
import { resolveInputs } from '../../../loader/src/core/reading/inputs.ts';
import { sheetRows, sheetsOf } from '../../../loader/src/core/reading/workbook.ts';
import { useFolder } from '../../support/use-folder.ts';

const folder = useFolder();

async function rowsOf(path: string, sheet: string): Promise<Record<number, unknown[]>> {
  const found: Record<number, unknown[]> = {};
  for await (const rows of sheetRows({ path, sheet }))
    for (const { number, cells } of rows) found[number] = Array.from(cells, shown);
  return found;
}

function shown(cell: Cell): unknown {
  if (cell instanceof Shown) return cell.text ?? cell.value;
  return cell instanceof Wrong ? `wrong: ${cell.reason}` : (cell ?? null);
}

const written = (name: string): string => resolve(import.meta.dirname, 'workbooks', name);

const day = (text: string): Date => new Date(`${text}T00:00:00Z`);

/** Of a sheet with these rows, and these shared texts and styles. */
async function read(
  rows: string,
  { texts = '', styles, ...how }: { texts?: string; styles?: string } & ZipForm = {},
): Promise<Record<number, unknown[]>> {
  const path = join(folder.path, 'suppliers.xlsx');
  const parts = {
    'xl/worksheets/sheet1.xml': `<worksheet><sheetData>${rows}</sheetData></worksheet>`,
    'xl/sharedStrings.xml': `<sst>${texts}</sst>`,
    ...(styles === undefined ? {} : { 'xl/styles.xml': styles }),
  };
  await writeFile(path, makeWorkbook({ Sheet: [] }, parts, how));
  return rowsOf(path, 'Sheet');
}

describe('a workbook', () => {
  it('of openpyxl is read: dates from 1904, runs of text, gaps, a formula that was not calculated, a hidden sheet', async () => {
    const path = written('openpyxl.xlsx');
    expect((await sheetsOf(path)).map(({ name, isHidden }) => [name, isHidden])).toEqual([
      ['Suppliers & more', false],
      ['Old', true],
    ]);
    expect(await rowsOf(path, 'Suppliers & more')).toEqual({
      1: ['externalId', null, 'name'],
      3: [4711, true, 'Holz & Söhne', day('2026-03-31'), 0.1],
      4: [
        'wrong: a formula without a result: open the file in Excel, and save it',
        null,
        'two\nlines',
        new Date('2026-03-31T12:30:00Z'),
      ],
    });
  });

  it('of XlsxWriter with 64-bit numbers is read: results of formulas, errors, escapes', async () => {
    expect(await rowsOf(written('xlsxwriter.xlsx'), 'Batches')).toEqual({
      1: ['externalId', 'quantity', 'receivedDate', 'ok', 'name'],
      2: ['0042', 1250.5, day('2026-03-31'), false, '_x0041_ <&> 日本 😀'],
      5: [' B-2 ', 3, 'wrong: #DIV/0! is an error of a formula', null, 'ab'],
    });
  });

  it.each(['sheetjs.xlsx', 'exceljs.xlsx'])('of a JavaScript library is read: %s', async (name) => {
    expect(await rowsOf(written(name), 'Suppliers')).toEqual({
      1: ['externalId', 'name', 'since'],
      2: ['S-1', 'Eins', day('2026-03-31')],
      3: [2, null, true],
    });
  });

  it.each([{ is64: true }, { isStored: true }, {}])('in a zip file with %o is read', async (how) => {
    expect(await read('<row><c><v>7</v></c></row>', how)).toEqual({ 1: [7] });
  });

  it('with XML of prefixes, single quotes, comments and UTF-16 is read', async () => {
    const path = join(folder.path, 'suppliers.xlsx');
    const xml = `\ufeff<?xml version='1.0'?><x:worksheet><!-- <x:row> --><x:sheetData><x:row r='2'><x:c r='B2' t='str' note='a > b'><x:v><![CDATA[<Ö>]]></x:v></x:c></x:row></x:sheetData></x:worksheet>`;
    const parts = { 'xl/worksheets/sheet1.xml': Buffer.from(xml, 'utf16le') };
    await writeFile(path, makeWorkbook({ Sheet: [] }, parts));
    expect(await rowsOf(path, 'Sheet')).toEqual({ 2: [null, '<Ö>'] });
  });
});

describe('cells', () => {
  it('without a cell reference belong to successive columns', async () => {
    const rows =
      '<row><c><v>1</v></c><c r="D1"><v>2</v></c><c><v>3</v></c></row><row/><row><c><v>4</v></c></row>';
    expect(await read(rows)).toEqual({ 1: [1, null, null, 2, 3], 3: [4] });
  });

  it('have shared strings, with joined runs and without phonetic text', async () => {
    const texts =
      '<si><t xml:space="preserve"> a&amp;b&#10;&#x20AC; </t></si><si><r><t>東</t></r><r><t>京</t></r><rPh sb="0" eb="1"><t>トウ</t></rPh></si><si><t>_x0041__x005F_x0041_</t></si><si/>';
    const cells = [0, 1, 2, 3].map((index) => `<c t="s"><v>${index}</v></c>`).join('');
    expect(await read(`<row>${cells}</row>`, { texts })).toEqual({ 1: [' a&b\n€ ', '東京', 'A_x0041_'] });
  });

  it('have the types boolean, text, day and number', async () => {
    const cells =
      '<c t="b"><v>1</v></c><c t="b"><v>0</v></c><c t="str"><f>A1</f><v>x</v></c><c t="d"><v>2026-03-31T00:00:00</v></c><c><v>1.25E-2</v></c><c t="n"/><c t="inlineStr"><is><r><t>a</t></r><r><t>b</t></r></is></c>';
    expect(await read(`<row>${cells}</row>`)).toEqual({
      1: [true, false, 'x', day('2026-03-31'), 0.0125, null, 'ab'],
    });
  });

  it('are days only where their number format shows a day', async () => {
    const codes = {
      'dd.mm.yyyy': true,
      '[$-407]d. mmmm yyyy': true,
      'hh:mm': true,
      '0 "days"': false,
      '[Red]0.00': false,
      '0\\d': false,
      '#,##0_d': false,
      General: false,
    };
    const formats = Object.keys(codes).map(
      (code, index) => `<numFmt numFmtId="${200 + index}" formatCode="${code.replaceAll('"', '&quot;')}"/>`,
    );
    const ids = [...formats.keys(), -186, -178, -177, -173].map((index) => 200 + index);
    const styles = `<styleSheet><numFmts>${formats.join('')}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs>${ids.map((id) => `<xf numFmtId="${id}"/>`).join('')}</cellXfs><dxfs><xf numFmtId="14"/></dxfs></styleSheet>`;
    const cells = ids.map((_id, index) => `<c s="${index}"><v>46112</v></c>`).join('');
    const { 1: row = [] } = await read(`<row>${cells}</row>`, { styles });
    // 14, 22, 23 and 27 are built in.
    expect(row.map((cell) => cell instanceof Date)).toEqual([
      ...Object.values(codes),
      true,
      true,
      false,
      true,
    ]);
    expect(row[0]).toEqual(day('2026-03-31'));
  });

  it('with a format of days and no valid day are rejected', async () => {
    const styles = '<styleSheet><cellXfs><xf numFmtId="14"/></cellXfs></styleSheet>';
    const cells = '<c s="0"><v>4006381333931</v></c><c t="d"><v>soon</v></c>';
    expect(await read(`<row>${cells}</row>`, { styles })).toEqual({
      1: ['wrong: 4006381333931 is no day, as its format says', 'wrong: soon is no day, as its format says'],
    });
  });
});

it('a hidden sheet is loaded only where a map names it', async () => {
  const path = join(folder.path, 'export.xlsx');
  const text =
    '<sheet name="Suppliers" state="hidden" sheetId="1" r:id="rId1"/><sheet name="Products" sheetId="2" r:id="rId2"/>';
  await writeFile(
    path,
    makeWorkbook(
      { Suppliers: [], Products: [] },
      { 'xl/workbook.xml': `<workbook><sheets>${text}</sheets></workbook>` },
    ),
  );
  const sheets = async (map: Map<string, object>): Promise<unknown[]> =>
    (await resolveInputs({ files: [path], map, rules: {} })).map(({ sheet }) => sheet);
  expect(await sheets(new Map())).toEqual(['Products']);
  expect(await sheets(new Map([['export.xlsx#Suppliers', {}]]))).toEqual(['Suppliers', 'Products']);
});

const run = promisify(execFile);

it('100,000 rows of shared strings are read in 300 MB of memory', async () => {
  const path = join(folder.path, 'suppliers.xlsx');
  const header = ['externalId', 'name', 'code', 'address', 'email'];
  const texts = [...header];
  let rows = `<row>${header.map((_text, index) => `<c t="s"><v>${index}</v></c>`).join('')}</row>`;
  for (let row = 2; row <= 100_001; row += 1) {
    rows += `<row r="${row}" spans="1:5">`;
    for (const [index, column] of ['A', 'B', 'C', 'D', 'E'].entries()) {
      rows += `<c r="${column}${row}" t="s"><v>${texts.length}</v></c>`;
      texts.push(`${header[index]} of row ${row}`);
    }
    rows += '</row>';
  }
  const parts = {
    'xl/worksheets/sheet1.xml': `<worksheet><sheetData>${rows}</sheetData></worksheet>`,
    'xl/sharedStrings.xml': `<sst>${texts.map((text) => `<si><t>${text}</t></si>`).join('')}</sst>`,
  };
  await writeFile(path, makeWorkbook({ Suppliers: [] }, parts));
  const inputs = resolve(import.meta.dirname, '../../../loader/src/core/reading/inputs.ts');
  // `maxRSS` is of no use here: Linux begins it with what the parent of a process had.
  const script = `
    import { openSource, resolveInputs } from ${JSON.stringify(inputs)};
    const [input] = await resolveInputs({ files: [${JSON.stringify(path)}], map: new Map(), rules: {} });
    let made = 0;
    let peak = 0;
    setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 20).unref();
    for await (const rows of (await openSource(input)).rows()) made += rows.length;
    console.log(made, peak);`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script]);
  const [made = 0, peak = 0] = stdout.split(' ').map(Number);
  expect(made).toBe(100_000);
  expect(peak / 1_000_000).toBeLessThan(300);
}, 120_000);
