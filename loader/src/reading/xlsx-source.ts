// A sheet of an Excel workbook: a first pass over all of it finds header and formats, a second one reads it.
import { Stop } from '../exit.ts';
import { isRejectsHeader } from '../kinds.ts';
import { bindColumns, isHeader } from '../mapping/columns.ts';
import { textOf } from '../mapping/convert.ts';
import { itemsOfCells } from '../mapping/items.ts';
import { csvRejects } from './csv-rejects.ts';
import { placeOf, type Input, type Source } from './source.ts';
import { sheetRows, type SheetRow } from './workbook.ts';

const headerRowsMax = 20;
const sampleRows = 1_000;

export async function openXlsx(input: Input): Promise<Source> {
  const where = placeOf(input);
  const begun: SheetRow[] = [];
  let lastNumber = 0;
  for await (const rows of sheetRows(input)) {
    begun.push(...rows.slice(0, headerRowsMax + sampleRows - begun.length));
    lastNumber = rows.at(-1)?.number ?? lastNumber;
  }
  const [first] = begun;
  if (first === undefined) throw new Stop(`${where} is empty.`);
  const rules = { ...input.rules, kind: input.kind };
  const headerRow =
    begun.find(({ number, cells }) => number <= headerRowsMax && isHeader(headerOf(cells), rules)) ?? first;
  const header = headerOf(headerRow.cells);
  const { bound, unused, key } = bindColumns(header, rules, where);
  const isBelow = ({ number }: SheetRow): boolean => number > headerRow.number;
  const sample = begun.filter(isBelow).map(({ cells }) => cells);
  const table = { kind: input.kind, bound, key, width: header.length, sample, delimiter: undefined, where };
  const { make, notes } = itemsOfCells(table, input.rules);
  return {
    input,
    total: lastNumber - headerRow.number,
    notes: [
      ...(headerRow.number === 1 ? [] : [`header in row ${headerRow.number}`]),
      ...notes,
      ...(unused.length === 0 ? [] : [`not used: ${unused.map((column) => `"${column}"`).join(', ')}`]),
    ],
    isRejects: isRejectsHeader(header),
    make: (raw) => make(Array.isArray(raw) ? raw : []),
    async *rows() {
      for await (const rows of sheetRows(input)) {
        yield rows.filter(isBelow).map(({ number, cells }) => ({ number, made: make(cells), raw: cells }));
      }
    },
    rejects: csvRejects(header, { delimiter: ';', encoding: 'utf-8', hasBom: true, quotes: true }),
  };
}

/** The texts of a header row; a missing cell is empty. */
export const headerOf = (cells: SheetRow['cells']): string[] =>
  Array.from(cells, (cell) => textOf(cell).trim());
