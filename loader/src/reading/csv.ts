// The rows of a CSV file, as arrays of texts.
import { parse } from 'csv-parse/sync';
import { Splitter, type SplitterOptions } from './splitter.ts';

export interface CsvForm extends SplitterOptions {
  delimiter: number;
}

/** `utf8` has no BOM. */
export async function* csvRows(
  utf8: AsyncIterable<Buffer>,
  form: CsvForm,
): AsyncGenerator<string[][], void, undefined> {
  const splitter = new Splitter(form);
  for await (const chunk of utf8) {
    const block = splitter.push(chunk);
    if (block !== undefined) yield parseBlock(block, form);
  }
  const rest = splitter.end();
  if (rest !== undefined) yield parseBlock(rest, form);
}

/** One more or fewer cell is for the mapping to judge, and an empty line is a row, so that rows can be counted. */
export const parseBlock = (block: Buffer, { delimiter, quotes }: Omit<CsvForm, 'where'>): string[][] =>
  parse(block, {
    delimiter: String.fromCharCode(delimiter),
    quote: quotes ? '"' : null,
    relax_quotes: true,
    relax_column_count: true,
    record_delimiter: ['\r\n', '\n', '\r'],
  });

const candidates = [';', '\t', ',', '|'];
const linesLookedAt = 50;

/** The delimiter with which a row can be the header, or else the one that makes the most cells. */
export function findDelimiter(start: Buffer, isHeader: (cells: string[]) => boolean): string {
  const lines = start
    .toString()
    .split(/\r\n|\n|\r/)
    .slice(0, linesLookedAt);
  const scored = candidates.map((delimiter) => {
    const rows = lines.map((line) => cellsOf(line, delimiter));
    const isFound = rows.slice(0, 20).some((cells) => isHeader(cells));
    const widths = rows.map((cells) => cells.length).toSorted((one, other) => one - other);
    const width = Math.max(rows[0]?.length ?? 0, widths[Math.floor(widths.length / 2)] ?? 0);
    return { delimiter, score: (isFound ? 1_000_000 : 0) + width };
  });
  return scored.reduce((best, one) => (one.score > best.score ? one : best)).delimiter;
}

/** Good enough for a header: quotes around cells go. */
const cellsOf = (line: string, delimiter: string): string[] =>
  line.split(delimiter).map((cell) => cell.replace(/^\s*"(.*)"\s*$/, '$1').trim());
