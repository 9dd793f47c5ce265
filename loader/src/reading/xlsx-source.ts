// A sheet of an Excel workbook. It is measured before it is read, since a reader of Excel files takes it whole into memory.
import { Stop, messageOf } from '../exit.ts';
import { bindColumns, isHeader } from '../mapping/columns.ts';
import type { Cell } from '../mapping/convert.ts';
import { itemsOfCells } from '../mapping/items.ts';
import { csvRejects } from './csv-rejects.ts';
import { placeOf, type Input, type Row, type Source } from './source.ts';
import { entriesOf, inflate, openZip } from './zip.ts';

const rowsMax = 250_000;
const unpackedBytesMax = 512 * 1024 * 1024;
const headerRowsMax = 20;
const sampleRows = 1_000;
const rowsAtOnce = 2_000;

/** The names of the sheets, in their order. Throws a Stop where the workbook is too large to be read. */
export async function measureWorkbook(path: string): Promise<string[]> {
  const file = await openZip(path);
  try {
    let names: string[] | undefined;
    let unpackedBytes = 0;
    for (const entry of await entriesOf(file, path)) {
      const isSheet = entry.name.startsWith('xl/worksheets/');
      const isBook = entry.name === 'xl/workbook.xml';
      let book = '';
      let rows = 0;
      let tail = '';
      for await (const chunk of inflate(file, entry, path)) {
        unpackedBytes += chunk.length;
        if (unpackedBytes > unpackedBytesMax) {
          throw new Stop(`${path} unpacks to more than 512 MiB: save the sheet as CSV.`);
        }
        const text = chunk.toString('latin1');
        if (isBook) book += chunk.toString('utf8');
        if (isSheet) {
          // What tells a row may be cut by the end of a chunk.
          const seen = tail + text;
          rows += seen.split('<row ').length - 1;
          tail = seen.slice(-4);
        }
      }
      if (rows > rowsMax) {
        throw new Stop(
          `${path}, ${entry.name}: a sheet of more than 250,000 rows. Save it as CSV, which is read in pieces.`,
        );
      }
      if (isBook) names = sheetNames(book);
    }
    if (names === undefined || names.length === 0)
      throw new Stop(`${path} has no sheets: is it an Excel workbook?`);
    return names;
  } catch (error) {
    if (error instanceof Stop) throw error;
    throw new Stop(`${path} cannot be unpacked: ${messageOf(error)}`, undefined, { cause: error });
  } finally {
    await file.close();
  }
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

const sheetNames = (book: string): string[] =>
  [...book.matchAll(/<sheet\s[^>]*?\bname="([^"]*)"/g)].map(([, name = '']) =>
    name.replaceAll(/&(\w+);/g, (whole, entity: string) => entities[entity] ?? whole),
  );

export async function openXlsx(input: Input): Promise<Source> {
  const where = placeOf(input);
  // Loaded when needed: most loads read no workbook.
  const { readSheet } = await import('read-excel-file/node');
  const rows: Cell[][] = await readSheet(input.path, input.sheet ?? 1, { trim: false }).catch(
    (error: unknown) => {
      throw new Stop(`${where} cannot be read: ${messageOf(error)}`, undefined, { cause: error });
    },
  );
  if (rows.every(isBlank)) throw new Stop(`${where} is empty.`);
  const begun = rows.slice(0, headerRowsMax).map((cells) => cells.map(textOf));
  const found = begun.findIndex((cells) => isHeader(cells, { ...input.rules, kind: input.kind }));
  const headerAt = found >= 0 ? found : rows.findIndex((cells) => !isBlank(cells));
  const header = begun[headerAt] ?? [];
  const { bound, unused } = bindColumns(header, { ...input.rules, kind: input.kind }, where);
  const sample = rows.slice(headerAt + 1, headerAt + 1 + sampleRows);
  const table = { kind: input.kind, bound, width: header.length, sample, delimiter: undefined, where };
  const { make, notes } = itemsOfCells(table, input.rules);
  return {
    input,
    total: rows.length - headerAt - 1,
    notes: [
      ...(headerAt === 0 ? [] : [`header in row ${headerAt + 1}`]),
      ...notes,
      ...(unused.length === 0 ? [] : [`not used: ${unused.map((column) => `"${column}"`).join(', ')}`]),
    ],
    async *rows() {
      for (let from = headerAt + 1; from < rows.length; from += rowsAtOnce) {
        const some: Row[] = [];
        for (const [index, cells] of rows.slice(from, from + rowsAtOnce).entries()) {
          if (!isBlank(cells))
            some.push({ number: from + index + 1, made: make(cells), raw: cells.map(textOf) });
        }
        yield some;
      }
    },
    rejects: csvRejects(header, { delimiter: ';', encoding: 'utf-8', hasBom: true, quotes: true }),
  };
}

const isBlank = (cells: readonly Cell[]): boolean => cells.every((cell) => cell === null || cell === '');

function textOf(cell: Cell): string {
  if (cell instanceof Date) return cell.toISOString().replace('T00:00:00.000Z', '');
  if (cell === null || cell === undefined) return '';
  return typeof cell === 'object' ? JSON.stringify(cell) : String(cell).trim();
}
