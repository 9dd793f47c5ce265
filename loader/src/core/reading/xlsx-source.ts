// Reads a sheet of an Excel workbook: a first pass over the whole sheet finds the header and the formats, and a second pass reads
// the rows.
import { Stop } from '../exit.ts';
import { isRejectsHeader } from '../kinds.ts';
import { bindColumns, columnsOf, isHeader, namesByPosition, type ColumnRules } from '../mapping/columns.ts';
import { textOf } from '../mapping/convert.ts';
import { itemsOfCells } from '../mapping/items.ts';
import { csvRejects } from './csv-rejects.ts';
import { isRepeated } from './csv-source.ts';
import { unguarded } from './formulas.ts';
import { likelyHeader } from './likely-header.ts';
import { placeOf, type Input, type Looked, type Source } from './source.ts';
import { sheetRows, type SheetRow } from './workbook.ts';

const headerRowsMax = 20;
const sampleRows = 1_000;

interface SheetTable {
  header: string[];
  headerNumber: number;
  begun: readonly SheetRow[];
  lastNumber: number;
}

async function readTable(input: Input): Promise<SheetTable> {
  const begun: SheetRow[] = [];
  let lastNumber = 0;
  for await (const rows of sheetRows(input, headerRowsMax + sampleRows)) {
    begun.push(...rows.slice(0, headerRowsMax + sampleRows - begun.length));
    lastNumber = rows.at(-1)?.number ?? lastNumber;
  }
  if (begun.length === 0) throw new Stop(`${placeOf(input)} is empty.`);
  return { ...headOf(begun, { ...input.rules, kind: input.kind }), begun, lastNumber };
}

/** Describes the sheet, even if it lacks columns that a load needs. */
export async function lookAtXlsx(input: Input): Promise<Looked> {
  const table = await readTable(input);
  const { header, headerNumber, begun, lastNumber } = table;
  return {
    look: {
      encoding: undefined,
      delimiter: undefined,
      headerRow: headerNumber,
      rows: lastNumber - headerNumber,
      header,
      sample: begun.filter(({ number }) => number > headerNumber).map(({ cells }) => cells),
    },
    open: () => sourceOf(table, input),
  };
}

export const openXlsx = async (input: Input): Promise<Source> => sourceOf(await readTable(input), input);

function sourceOf({ header, headerNumber, begun, lastNumber }: SheetTable, input: Input): Source {
  const where = placeOf(input);
  const rules = { ...input.rules, kind: input.kind };
  const isRejects = isRejectsHeader(header);
  const { bound, unused, key } = bindColumns(header, rules, where);
  const isBelow = ({ number, cells }: SheetRow): boolean =>
    number > headerNumber && !isRepeated(cells, header);
  const tidied = (cells: SheetRow['cells']): SheetRow['cells'] =>
    isRejects ? cells.map((cell) => (typeof cell === 'string' ? unguarded(cell) : cell)) : cells;
  const sample = begun.filter(isBelow).map(({ cells }) => tidied(cells));
  const table = { kind: input.kind, bound, key, width: header.length, sample, delimiter: undefined, where };
  const { make, notes } = itemsOfCells(table, input.rules);
  return {
    input,
    total: lastNumber - headerNumber,
    rowsBefore: headerNumber,
    notes: [
      ...(headerNumber <= 1 ? [] : [`header in row ${headerNumber}`]),
      ...notes,
      ...(unused.length === 0 ? [] : [`not used: ${unused.map((column) => `"${column}"`).join(', ')}`]),
    ],
    isRejects,
    make: (raw) => make(Array.isArray(raw) ? tidied(raw) : []),
    async *rows() {
      for await (const rows of sheetRows(input)) {
        yield rows
          .filter(isBelow)
          .map(({ number, cells }) => ({ number, made: make(tidied(cells)), raw: cells }));
      }
    },
    columns: columnsOf(bound),
    rejects: csvRejects(header, { delimiter: ';', encoding: 'utf-8', hasBom: true, quotes: true }),
  };
}

/**
 * Finds the header and the number of its row. If a map names columns by position, the number is that of the last skipped row, or
 * 0.
 */
function headOf(begun: readonly SheetRow[], rules: ColumnRules & { skip?: number }) {
  const rows = begun.filter(({ number }) => number <= headerRowsMax);
  const texts = rows.map(({ cells }) => headerOf(cells).map(unguarded));
  const rejects = texts.findIndex(isRejectsHeader);
  if (rejects < 0 && Array.isArray(rules.columns))
    return { header: namesByPosition(rules.columns), headerNumber: rules.skip ?? 0 };
  const found = rejects >= 0 ? rejects : texts.findIndex((cells) => isHeader(cells, rules));
  const at = found >= 0 ? found : likelyHeader(texts);
  return { header: texts[at] ?? [], headerNumber: rows[at]?.number ?? 0 };
}

/** The texts of a header row; a missing cell is empty. */
export const headerOf = (cells: SheetRow['cells']): string[] =>
  Array.from(cells, (cell) => textOf(cell).trim());
