// Reads a CSV file: a first pass over all bytes finds the encoding, the delimiter and broken records, and a second pass reads the
// rows.
import { platform } from '#platform';
import { joined } from '../bytes.ts';
import { Stop } from '../exit.ts';
import { isRejectsHeader } from '../kinds.ts';
import { bindColumns, columnsOf, isHeader, namesByPosition } from '../mapping/columns.ts';
import { textOf, Wrong, type Cell } from '../mapping/convert.ts';
import { idIn, itemsOfCells } from '../mapping/items.ts';
import { csvRejects, type CsvRejects } from './csv-rejects.ts';
import { csvBlocks, findDelimiter, parseRecords, takeRecords, type CsvForm } from './csv.ts';
import { ByteWatch, checkEncoding, encodingByBom, isLikeAscii, refuseMissing, toUtf8 } from './encodings.ts';
import { unguarded } from './formulas.ts';
import { isRuler, isUnderline, likelyHeader } from './likely-header.ts';
import { placeOf, type Input, type Looked, type Row, type Source } from './source.ts';
import { Splitter } from './splitter.ts';
import { firstBytes, withoutStart } from './start.ts';

const startBytes = 1024 * 1024;
/** In how many first rows the header is searched: SAP writes a title and blank lines above the header. */
const headerRowsMax = 20;
const sampleRows = 1_000;
const lateQuote = 'a blank is before a quote: take the blank off';

interface Look {
  encoding: string;
  bomBytes: number;
  form: CsvForm;
  /** Whether the file is a list as SAP prints it: rows between lines of dashes, and cells between `|`, padded with blanks. */
  isList: boolean;
  /**
   * The number of rows. Undefined for a list, and for standard input of more than 1 MiB, because only its first MiB is read in
   * advance.
   */
  total: number | undefined;
  notes: string[];
}

/** What a first pass over a file finds, before its columns are bound to fields. */
interface CsvTable extends Head {
  where: string;
  look: Look;
  rowsBefore: number;
  tidied: Tidy;
  isRow: (cells: readonly string[]) => boolean;
  /** The first rows below the header. */
  sample: readonly (readonly string[])[];
  /** The texts of all rows, in blocks of whole rows. */
  blocks: () => AsyncGenerator<string, void, undefined>;
}

async function readTable(input: Input, standardInput?: AsyncIterable<Uint8Array>): Promise<CsvTable> {
  const where = placeOf(input);
  // Standard input can be read only once. So its first MiB is kept in memory and checked in advance.
  const piped = standardInput === undefined ? undefined : await firstBytes(standardInput, startBytes);
  const bytes = (): AsyncIterable<Uint8Array> => piped?.all() ?? platform.stream(input.path);
  const first = piped?.start ?? (await firstBytes(platform.stream(input.path), startBytes, true)).start;
  if (first.length <= (encodingByBom(first)?.bomBytes ?? 0)) throw new Stop(`${where} is empty.`);
  const isCut = piped !== undefined && first.length >= startBytes;
  const look = await lookAt(
    input,
    first,
    isCut ? undefined : piped === undefined ? bytes() : only(first),
    where,
  );
  const blocksOf = (from: AsyncIterable<Uint8Array>) => blocksIn(withoutStart(from, look.bomBytes), look);
  const begun = await beginning(
    blocksOf(piped === undefined ? bytes() : only(first)),
    look,
    piped !== undefined,
  );
  const head = headOf(begun, input);
  const { headerAt, header, isRejects } = head;
  const { isList } = look;
  const tidied = tidying({ isList: isList && input.rules.trim !== false, isRejects });
  // Lines of dashes below the header belong to the header, and do not count as rows.
  let rowsBefore = headerAt + 1;
  while (isUnderline(begun[rowsBefore] ?? [])) rowsBefore += 1;
  // Later lines of dashes are ignored only if the header is underlined. Otherwise dashes may be a value.
  const isRuled = isList || rowsBefore > headerAt + 1;
  const isRow = (cells: readonly string[]): boolean =>
    !isBlank(cells) &&
    !(isRuled && isUnderline(cells)) &&
    !(isList && isOutside(cells)) &&
    !isRepeated(cells, header);
  const sample = begun
    .slice(headerAt + 1, headerAt + 1 + sampleRows)
    .filter(isRow)
    .map(tidied);
  return { ...head, where, look, rowsBefore, tidied, isRow, sample, blocks: () => blocksOf(bytes()) };
}

/** Describes the file, even if it lacks columns that a load needs. */
export async function lookAtCsv(input: Input): Promise<Looked> {
  const table = await readTable(input);
  const { look, headerAt, rowsBefore, header, sample } = table;
  const { encoding, form, isList, total } = look;
  return {
    look: {
      encoding,
      delimiter: isList ? undefined : String.fromCharCode(form.delimiter),
      headerRow: headerAt + 1,
      rows: total === undefined ? undefined : total - rowsBefore,
      header,
      sample,
    },
    open: () => sourceOf(table, input),
  };
}

export const openCsv = async (input: Input, standardInput?: AsyncIterable<Uint8Array>): Promise<Source> =>
  sourceOf(await readTable(input, standardInput), input);

function sourceOf(table: CsvTable, input: Input): Source {
  const { where, look, headerAt, rowsBefore, header, isRejects, tidied, isRow, sample } = table;
  const { isList } = look;
  const { bound, unused, key } = bindColumns(header, { ...input.rules, kind: input.kind }, where);
  const delimiter = String.fromCharCode(look.form.delimiter);
  const columns = {
    kind: input.kind,
    bound,
    key,
    width: header.length,
    sample,
    delimiter,
    where,
    isExact: isList,
  };
  const { make, notes } = itemsOfCells(columns, input.rules);
  // A row is wrong if a cell begins with a blank and a quote: such a quote opens no quoted cell, so that delimiters split the
  // text.
  const isLate = (cells: readonly string[], raw: string): boolean =>
    look.form.quotes &&
    raw.includes(`${delimiter} "`) &&
    cells.some((cell) => cell.startsWith(' "') && raw.includes(delimiter + cell));
  const cellsOf = (raw: string): readonly string[] => tidied(parseRecords(raw, look.form)[0] ?? []);
  return {
    input,
    total: look.total === undefined ? undefined : look.total - rowsBefore,
    rowsBefore,
    notes: [
      ...formNotes(look, sample),
      ...(headerAt <= 0 || Array.isArray(input.rules.columns) ? [] : [`header in row ${headerAt + 1}`]),
      ...notes,
      ...look.notes,
      ...(unused.length === 0 ? [] : [`not used: ${unused.map((column) => `"${column}"`).join(', ')}`]),
    ],
    isRejects,
    make: (raw) => make(cellsOf(String(raw))),
    async *rows() {
      let number = 0;
      for await (const text of table.blocks()) {
        const rows: Row[] = [];
        takeRecords(text, look.form, (cells, from, to) => {
          number += 1;
          if (number <= rowsBefore || !isRow(cells)) return;
          // The row is kept as a slice of the block's text, which takes less memory than its cells.
          const raw = text.slice(from, to);
          const made = make(tidied(cells));
          rows.push({ number, made: isLate(cells, raw) ? new Wrong(lateQuote, idIn(made)) : made, raw });
        });
        yield rows;
      }
    },
    columns: columnsOf(bound),
    rejects: csvRejects(header, { ...rejectsForm(input, look), cellsOf }),
  };
}

/** Messages about the encoding, with a row as an example, and the delimiter. */
function formNotes({ encoding, form, isList }: Look, sample: readonly (readonly string[])[]): string[] {
  const delimiter = String.fromCharCode(form.delimiter);
  const nonAscii = sample.find((row) => /\P{ASCII}/u.test(row.join('')));
  const example =
    encoding !== 'utf-8' && nonAscii !== undefined ? `, as in "${nonAscii.join(delimiter)}"` : '';
  const between = `"${delimiter === '\t' ? 'tab' : delimiter}" between columns`;
  return [encoding + example, isList ? 'a list of SAP' : between];
}

/**
 * Rejected rows are written in the form and with the extension of their file, because a map may name files by it. Those of a list
 * are written as CSV.
 */
function rejectsForm({ path }: Input, { encoding, bomBytes, form, isList }: Look): CsvRejects {
  const delimiter = isList ? ';' : String.fromCharCode(form.delimiter);
  const extension = /\.(?:csv|tsv|txt)(?=$|\.gz$)/i.exec(path)?.[0] ?? (delimiter === '\t' ? '.tsv' : '.csv');
  return { delimiter, encoding, hasBom: bomBytes > 0, quotes: isList || form.quotes, isList, extension };
}

function blocksIn(
  bytes: AsyncIterable<Uint8Array>,
  { encoding, form }: Look,
): AsyncGenerator<string, void, undefined> {
  return isLikeAscii(encoding)
    ? csvBlocks(bytes, encoding, form)
    : csvBlocks(toUtf8(bytes, encoding), 'utf-8', form);
}

async function lookAt(
  { rules, kind }: Input,
  first: Uint8Array,
  whole: AsyncIterable<Uint8Array> | undefined,
  where: string,
): Promise<Look> {
  const bom = encodingByBom(first);
  const named = rules.encoding === undefined ? undefined : checkEncoding(rules.encoding);
  // The name utf-16 says no order of bytes: the file shows the order.
  const said = named === undefined || named === 'utf-16' ? (bom?.encoding ?? named) : named;
  const bomBytes = said === bom?.encoding ? (bom?.bomBytes ?? 0) : 0;
  const start = await startText(first.subarray(bomBytes), said);
  const separator = /^sep=(.)(?:\r\n|\n|\r)/.exec(platform.utf8(start, 0, Math.min(16, start.length)));
  const delimiter =
    rules.delimiter ?? separator?.[1] ?? findDelimiter(start, (cells) => isHeader(cells, { ...rules, kind }));
  const isList = delimiter === '|' && rules.delimiter === undefined && isPrinted(platform.utf8(start));
  // In a list, cells are padded with blanks, and quotes are ordinary characters.
  const form = { delimiter: delimiter.charCodeAt(0), quotes: rules.quotes ?? !isList, where };

  const watch = new ByteWatch();
  const splitter = new Splitter(form);
  const isWatched = said === undefined || said === 'utf-8';
  const other = isWatched || !isLikeAscii(said) ? undefined : platform.encodings.decoder(said);
  const check = (text = ''): void =>
    refuseMissing(text, said ?? '', `${where}, up to line ${splitter.lines + 1}`);
  const chunks = withoutStart(whole ?? only(first), bomBytes);
  for await (const chunk of said === undefined || isLikeAscii(said) ? chunks : toUtf8(chunks, said)) {
    if (isWatched) watch.look(chunk, splitter.lines);
    splitter.count(chunk);
    check(other?.write(chunk));
  }
  if (isWatched && whole !== undefined) watch.end();
  if (whole !== undefined) check(other?.end());
  if (whole !== undefined) splitter.end();
  return {
    encoding: encodingOf(watch, said, where),
    bomBytes,
    form,
    isList,
    total: whole === undefined || isList ? undefined : splitter.records,
    notes: splitter.isMixed ? ['line ends of two sorts, both taken'] : [],
  };
}

async function startText(first: Uint8Array, encoding: string | undefined): Promise<Uint8Array> {
  if (encoding === undefined || isLikeAscii(encoding)) return first;
  const chunks: Uint8Array[] = [];
  for await (const chunk of toUtf8(only(first), encoding)) chunks.push(chunk);
  return joined(chunks);
}

function encodingOf(watch: ByteWatch, said: string | undefined, where: string): string {
  const { firstStray: stray, firstUndefined: missing, characters, strays } = watch;
  if (stray === undefined) return said ?? 'utf-8';
  const at = `${where}, line ${stray.line}: byte 0x${stray.byte.toString(16)}`;
  if (said !== undefined || characters > 4 * strays) {
    throw new Stop(
      `${at} is no UTF-8, as the rest of the file is. Repair it, or ${platform.advice.encoding}, such as windows-1252.`,
    );
  }
  if (missing === undefined) return 'windows-1252';
  throw new Stop(
    `${where}, line ${missing.line}: byte 0x${missing.byte.toString(16)} is neither UTF-8 nor windows-1252: ${platform.advice.encoding}${platform.advice.dos}.`,
  );
}

/** Reads the first rows, which contain the header and the sample. */
async function beginning(blocks: AsyncGenerator<string>, look: Look, isCut: boolean): Promise<string[][]> {
  const rows: string[][] = [];
  for (;;) {
    // The first MiB of standard input may end within a quoted cell, which is then no error.
    const next = await blocks.next().catch((error: unknown) => {
      if (isCut && rows.length > 0) return { done: true, value: undefined };
      throw error;
    });
    if (next.done === true || next.value === undefined) return rows;
    // Rows are added one by one: the first MiB of standard input is one block, which may have more rows than a call may have
    // arguments.
    for (const row of parseRecords(next.value, look.form)) rows.push(row);
    // A first line such as `sep=;`, which names the delimiter, is no row of the table.
    if (rows[0]?.join(String.fromCharCode(look.form.delimiter)).startsWith('sep=') === true) rows[0] = [''];
    if (rows.length >= sampleRows + headerRowsMax) {
      await blocks.return(undefined);
      return rows;
    }
  }
}

interface Head {
  /** The index of the header row, or -1 if the first row is data. */
  headerAt: number;
  header: string[];
  isRejects: boolean;
}

/**
 * Finds the header: the first row that has all needed columns, or else the likely header, for a message about missing columns.
 */
function headOf(rows: readonly string[][], { rules, kind }: Input): Head {
  const begun = rows.slice(0, headerRowsMax).map((cells) => cells.map((cell) => cell.trim()));
  const said = { ...rules, kind };
  const rejects = begun.findIndex(isRejectsHeader);
  if (rejects < 0 && Array.isArray(rules.columns))
    return { headerAt: (rules.skip ?? 0) - 1, header: namesByPosition(rules.columns), isRejects: false };
  const found = begun.findIndex((cells) => isHeader(cells.map(unguarded), said));
  const headerAt = rejects >= 0 ? rejects : found >= 0 ? found : likelyHeader(begun);
  const header = begun[headerAt] ?? [];
  return { headerAt, header: rejects < 0 ? header : header.map(unguarded), isRejects: rejects >= 0 };
}

type Tidy = (cells: readonly string[]) => readonly string[];

/** The function that cleans the cells of each row before their conversion. */
const tidying = (how: { isList: boolean; isRejects: boolean }): Tidy => {
  if (how.isList) return (cells) => cells.map((cell) => cell.trim());
  return how.isRejects ? (cells) => cells.map(unguarded) : (cells) => cells;
};

/** Whether the file is a printed list: its first lines include a line of dashes, and a line that begins and ends with `|`. */
function isPrinted(text: string): boolean {
  const lines = text.split(/\r\n|\n|\r/, 60).map((line) => line.slice(0, 2_000).trimEnd());
  return (
    lines.some((line) => line.includes('---') && isRuler([line])) &&
    lines.some((line) => line.startsWith('|') && line.endsWith('|') && line.length > 2 && !isRuler([line]))
  );
}

/** Whether a row of a list is a line of dashes or a title. */
const isOutside = (cells: readonly string[]): boolean => cells.length === 1 || isRuler(cells);

/** Whether a row repeats the header, as printed pages do, and joined files. */
export const isRepeated = (cells: readonly Cell[], header: readonly string[]): boolean =>
  header.every((name, index) => textOf(cells[index]).trim() === name);

const isBlank = (cells: readonly string[]): boolean => cells.every((cell) => cell === '');

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes;
}
