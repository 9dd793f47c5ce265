// Finds the header of a file for load --sample, even if it lacks columns that a load needs.
import { platform } from '#platform';
import { utf8Bytes } from '../bytes.ts';
import { findDelimiter, parseRecords } from './csv.ts';
import { checkEncoding, decode, encodingByBom } from './encodings.ts';
import { Stop } from '../exit.ts';
import { likelyHeader } from './likely-header.ts';
import { standardInput, type Input } from './source.ts';
import { firstBytes } from './start.ts';
import { sheetRows } from './workbook.ts';
import { headerOf as headerOfCells } from './xlsx-source.ts';

const startBytes = 64 * 1024;
const rowsMax = 20;

export async function headerOf(input: Input): Promise<string[]> {
  if (input.path === standardInput) throw new Stop('--sample takes files, and not standard input.');
  if (input.format === 'xlsx') {
    for await (const rows of sheetRows(input))
      return named(rows.slice(0, rowsMax).map(({ cells }) => headerOfCells(cells)));
    return [];
  }
  const { start } = await firstBytes(platform.stream(input.path), startBytes, true);
  return input.format === 'csv' ? csvHeader(start, input) : keysOf(platform.utf8(start));
}

async function csvHeader(start: Uint8Array, { rules }: Input): Promise<string[]> {
  const bom = encodingByBom(start);
  const encoding = checkEncoding(
    rules.encoding ?? bom?.encoding ?? (isCutUtf8(start) ? 'utf-8' : 'windows-1252'),
  );
  // The last line may be cut.
  const text = decode(start.subarray(bom?.bomBytes ?? 0), encoding);
  const delimiter = rules.delimiter ?? findDelimiter(utf8Bytes(text), () => false);
  const rows = parseRecords(text.slice(0, text.lastIndexOf('\n') + 1) || text, {
    delimiter: delimiter.charCodeAt(0),
    quotes: rules.quotes ?? true,
  });
  return named(rows.slice(0, rowsMax));
}

/** Whether the start of a file is UTF-8. Its last character may be cut, and is ignored. */
const isCutUtf8 = (start: Uint8Array): boolean => !platform.utf8(start).slice(0, -1).includes('\ufffd');

const named = (rows: readonly string[][]): string[] =>
  (rows[likelyHeader(rows)] ?? []).map((cell) => cell.trim());

/** The keys of the first object in the text. */
function keysOf(text: string): string[] {
  const [object = '{}'] = /\{[^{}]*\}/.exec(text) ?? [];
  try {
    const parsed: object = JSON.parse(object);
    return Object.keys(parsed);
  } catch {
    return [];
  }
}
