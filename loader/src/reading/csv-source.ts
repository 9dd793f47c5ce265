// A CSV file: a first pass over all bytes finds encoding, delimiter and broken records, a second reads rows.
import { Stop } from '../exit.ts';
import { isRejectsHeader } from '../kinds.ts';
import { bindColumns, isHeader } from '../mapping/columns.ts';
import { itemsOfCells } from '../mapping/items.ts';
import { openBytes } from './bytes.ts';
import { csvRejects } from './csv-rejects.ts';
import { csvBlocks, findDelimiter, parseRecords, takeRecords, type CsvForm } from './csv.ts';
import { ByteWatch, checkEncoding, encodingByBom, isLikeAscii, toUtf8 } from './encodings.ts';
import { placeOf, type Input, type Row, type Source } from './source.ts';
import { Splitter } from './splitter.ts';
import { firstBytes, withoutStart } from './start.ts';

const startBytes = 1024 * 1024;
/** A title and blank lines may stand above the header, as SAP writes them. */
const headerRowsMax = 20;
const sampleRows = 1_000;

interface Look {
  encoding: string;
  bomBytes: number;
  form: CsvForm;
  /** Undefined for standard input of more than 1 MiB, because only its first MiB is looked at. */
  total: number | undefined;
  notes: string[];
}

export async function openCsv(input: Input, standardInput?: AsyncIterable<Buffer>): Promise<Source> {
  const where = placeOf(input);
  // Standard input can be read only once: its first MiB is kept, and looked at beforehand.
  const piped = standardInput === undefined ? undefined : await firstBytes(standardInput, startBytes);
  const bytes = (): AsyncIterable<Buffer> => piped?.all() ?? openBytes(input.path);
  const first = piped?.start ?? (await firstBytes(openBytes(input.path), startBytes, true)).start;
  if (first.length === 0) throw new Stop(`${where} is empty.`);
  const isCut = piped !== undefined && first.length >= startBytes;
  const look = await lookAt(
    input,
    first,
    isCut ? undefined : piped === undefined ? bytes() : only(first),
    where,
  );

  const blocksOf = (from: AsyncIterable<Buffer>) => blocksIn(withoutStart(from, look.bomBytes), look);
  const begun = await beginning(
    blocksOf(piped === undefined ? bytes() : only(first)),
    look,
    piped !== undefined,
  );
  const headerAt = headerOf(begun, input);
  const header = (begun[headerAt] ?? []).map((cell) => cell.trim());
  const { bound, unused, key } = bindColumns(header, { ...input.rules, kind: input.kind }, where);
  const sample = begun.slice(headerAt + 1, headerAt + 1 + sampleRows);
  const delimiter = String.fromCharCode(look.form.delimiter);
  const table = { kind: input.kind, bound, key, width: header.length, sample, delimiter, where };
  const { make, notes } = itemsOfCells(table, input.rules);
  const nonAscii = sample.find((row) => /\P{ASCII}/u.test(row.join('')));
  const example =
    look.encoding !== 'utf-8' && nonAscii !== undefined ? `, as in "${nonAscii.join(delimiter)}"` : '';

  return {
    input,
    total: look.total === undefined ? undefined : look.total - headerAt - 1,
    notes: [
      `${look.encoding}${example}`,
      `"${delimiter === '\t' ? 'tab' : delimiter}" between columns`,
      ...(headerAt === 0 ? [] : [`header in row ${headerAt + 1}`]),
      ...notes,
      ...look.notes,
      ...(unused.length === 0 ? [] : [`not used: ${unused.map((column) => `"${column}"`).join(', ')}`]),
    ],
    isRejects: isRejectsHeader(header),
    make: (raw) => make(parseRecords(String(raw), look.form)[0] ?? []),
    async *rows() {
      let number = 0;
      for await (const text of blocksOf(bytes())) {
        const rows: Row[] = [];
        takeRecords(text, look.form, (cells, from, to) => {
          number += 1;
          if (number <= headerAt + 1 || isBlank(cells)) return;
          // The row is kept as a slice of the block's text, which takes less memory than its cells.
          rows.push({ number, made: make(cells), raw: text.slice(from, to) });
        });
        yield rows;
      }
    },
    rejects: csvRejects(header, {
      delimiter,
      encoding: look.encoding,
      hasBom: look.bomBytes > 0,
      quotes: look.form.quotes,
    }),
  };
}

function blocksIn(
  bytes: AsyncIterable<Buffer>,
  { encoding, form }: Look,
): AsyncGenerator<string, void, undefined> {
  return isLikeAscii(encoding)
    ? csvBlocks(bytes, encoding, form)
    : csvBlocks(toUtf8(bytes, encoding), 'utf-8', form);
}

async function lookAt(
  { rules, kind }: Input,
  first: Buffer,
  whole: AsyncIterable<Buffer> | undefined,
  where: string,
): Promise<Look> {
  const bom = encodingByBom(first);
  const said = rules.encoding === undefined ? bom?.encoding : checkEncoding(rules.encoding);
  const bomBytes = said === bom?.encoding ? (bom?.bomBytes ?? 0) : 0;
  const start = await startText(first.subarray(bomBytes), said);
  const separator = /^sep=(.)(?:\r\n|\n|\r)/.exec(start.subarray(0, 16).toString());
  const delimiter =
    rules.delimiter ?? separator?.[1] ?? findDelimiter(start, (cells) => isHeader(cells, { ...rules, kind }));
  const form = { delimiter: delimiter.charCodeAt(0), quotes: rules.quotes ?? true, where };

  const watch = new ByteWatch();
  const splitter = new Splitter(form);
  const isWatched = said === undefined || said === 'utf-8';
  const chunks = withoutStart(whole ?? only(first), bomBytes);
  for await (const chunk of said === undefined || isLikeAscii(said) ? chunks : toUtf8(chunks, said)) {
    if (isWatched) watch.look(chunk, splitter.lines);
    splitter.count(chunk);
  }
  if (isWatched && whole !== undefined) watch.end();
  if (whole !== undefined) splitter.end();
  return {
    encoding: encodingOf(watch, said, where),
    bomBytes,
    form,
    total: whole === undefined ? undefined : splitter.records,
    notes: splitter.isMixed ? ['line ends of two sorts, both taken'] : [],
  };
}

async function startText(first: Buffer, encoding: string | undefined): Promise<Buffer> {
  if (encoding === undefined || isLikeAscii(encoding)) return first;
  const chunks: Buffer[] = [];
  for await (const chunk of toUtf8(only(first), encoding)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function encodingOf(watch: ByteWatch, said: string | undefined, where: string): string {
  const { firstStray: stray, firstUndefined: missing, characters, strays } = watch;
  if (stray === undefined) return said ?? 'utf-8';
  const at = `${where}, line ${stray.line}: byte 0x${stray.byte.toString(16)}`;
  if (said !== undefined || characters > 4 * strays) {
    throw new Stop(
      `${at} is no UTF-8, as the rest of the file is. Repair it, or say --encoding windows-1252.`,
    );
  }
  if (missing === undefined) return 'windows-1252';
  throw new Stop(
    `${where}, line ${missing.line}: byte 0x${missing.byte.toString(16)} is neither UTF-8 nor windows-1252. Say --encoding, such as cp850 or cp437 of DOS.`,
  );
}

/** The first rows, which have the header and the sample. */
async function beginning(blocks: AsyncGenerator<string>, look: Look, isCut: boolean): Promise<string[][]> {
  const rows: string[][] = [];
  for (;;) {
    // The first MiB of standard input may end within a quote.
    const next = await blocks.next().catch((error: unknown) => {
      if (isCut && rows.length > 0) return { done: true, value: undefined };
      throw error;
    });
    if (next.done === true || next.value === undefined) return rows;
    // The first MiB of standard input comes at once, and may have more rows than a call may have arguments.
    for (const row of parseRecords(next.value, look.form)) rows.push(row);
    // `sep=;` is no row of the table.
    if (rows[0]?.join(String.fromCharCode(look.form.delimiter)).startsWith('sep=') === true) rows[0] = [''];
    if (rows.length >= sampleRows + headerRowsMax) {
      await blocks.return(undefined);
      return rows;
    }
  }
}

/**
 * The first row that has all needed columns, or else the first that is not blank, for a message about missing columns.
 */
function headerOf(rows: readonly string[][], { rules, kind }: Input): number {
  const begun = rows.slice(0, headerRowsMax);
  const found = begun.findIndex((cells) =>
    isHeader(
      cells.map((cell) => cell.trim()),
      { ...rules, kind },
    ),
  );
  return found >= 0
    ? found
    : Math.max(
        begun.findIndex((cells) => !isBlank(cells)),
        0,
      );
}

const isBlank = (cells: readonly string[]): boolean => cells.every((cell) => cell === '');

async function* only(bytes: Buffer): AsyncGenerator<Buffer, void, undefined> {
  yield bytes;
}
