// The rows of a CSV file, as arrays of texts. The splitter (splitter.ts) has split the bytes into whole records and refused
// malformed records. So one pass over the characters suffices. It takes a third of the time of a stream parser.
import { platform } from '#platform';
import { decodeBlock, noCharacter, refuseMissing } from './encodings.ts';
import { usualWidth } from './likely-header.ts';
import { Splitter, type SplitterOptions } from './splitter.ts';

export interface CsvForm extends SplitterOptions {
  delimiter: number;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const quote = 0x22;

/**
 * Called for each record. `cells` is valid only until the next record. The text of the record is from index `from` to index `to`.
 */
export type TakeRecord = (cells: readonly string[], from: number, to: number) => void;

/**
 * Decodes a file into blocks of whole records. In the encoding of the bytes, delimiters, quotes and line ends must be the same
 * bytes as in ASCII.
 */
export async function* csvBlocks(
  bytes: AsyncIterable<Uint8Array>,
  encoding: string,
  form: CsvForm,
): AsyncGenerator<string, void, undefined> {
  const splitter = new Splitter(form);
  const decoded = (block: Uint8Array): string => {
    const text = decodeBlock(block, encoding);
    const at = `${form.where}, up to line ${splitter.lines}`;
    // Each block is checked, because only the first MiB of standard input was checked in advance.
    if (encoding !== 'utf-8') refuseMissing(text, encoding, at);
    else if (!platform.isUtf8(block)) throw noCharacter(encoding, at);
    return text;
  };
  for await (const chunk of bytes) {
    const block = splitter.push(chunk);
    if (block !== undefined) yield decoded(block);
  }
  const rest = splitter.end();
  if (rest !== undefined) yield decoded(rest);
}

/**
 * Splits a text into records. Records with too many or too few cells are refused later, by the mapping. An empty line counts as a
 * row. All records share one array of cells, because one array for each record makes a tenth more garbage.
 */
export function takeRecords(
  text: string,
  { delimiter, quotes }: Omit<CsvForm, 'where'>,
  take: TakeRecord,
): void {
  const cells: string[] = [];
  let at = 0;
  while (at < text.length) {
    const from = at;
    let width = 0;
    for (;;) {
      const isQuoted = quotes && text.charCodeAt(at) === quote;
      const end = isQuoted ? endOfQuoted(text, at) : endOfBare(text, at, delimiter);
      cells[width] = isQuoted ? text.slice(at + 1, end - 1).replaceAll('""', '"') : text.slice(at, end);
      width += 1;
      at = end;
      if (text.charCodeAt(at) !== delimiter) break;
      at += 1;
    }
    if (text.charCodeAt(at) === carriageReturn && text.charCodeAt(at + 1) === lineFeed) at += 1;
    at += 1;
    if (cells.length > width) cells.length = width;
    take(cells, from, at);
  }
}

export function parseRecords(text: string, form: Omit<CsvForm, 'where'>): string[][] {
  const rows: string[][] = [];
  takeRecords(text, form, (cells) => void rows.push([...cells]));
  return rows;
}

function endOfBare(text: string, from: number, delimiter: number): number {
  for (let at = from; at < text.length; at += 1) {
    const character = text.charCodeAt(at);
    if (character === delimiter || character === lineFeed || character === carriageReturn) return at;
  }
  return text.length;
}

/** The index after the closing quote of a quoted field. Two quotes within the field mean one quote character. */
function endOfQuoted(text: string, from: number): number {
  let at = text.indexOf('"', from + 1);
  while (at >= 0 && text.charCodeAt(at + 1) === quote) at = text.indexOf('"', at + 2);
  return at < 0 ? text.length : at + 1;
}

const candidates = [';', '\t', ',', '|'];
const linesLookedAt = 50;

/**
 * Finds the delimiter that splits a row into a valid header; or else the delimiter that splits the most rows into the same number
 * of cells, and into many cells.
 */
export function findDelimiter(start: Uint8Array, isHeader: (cells: string[]) => boolean): string {
  const lines = platform
    .utf8(start)
    .split(/\r\n|\n|\r/)
    .slice(0, linesLookedAt);
  const scored = candidates.map((delimiter) => {
    const rows = lines.map((line) => cellsOf(line, delimiter));
    const isFound = rows.slice(0, 20).some((cells) => isHeader(cells));
    const width = usualWidth(rows);
    const usual = rows.filter(({ length }) => length === width).length;
    return { delimiter, score: (isFound ? 1_000_000 : 0) + (width - 1) * usual };
  });
  return scored.reduce((best, one) => (one.score > best.score ? one : best)).delimiter;
}

/** The cells of a line, without the quotes around them. This simple parsing suffices to find a header. */
function cellsOf(line: string, delimiter: string): string[] {
  const [cells = []] = parseRecords(line, { delimiter: delimiter.charCodeAt(0), quotes: true });
  return cells.map((cell) => cell.replace(/^\s*"(.*)"\s*$/, '$1').trim());
}
