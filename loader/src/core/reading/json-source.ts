// Reads JSON files: one object on each line (NDJSON), or one array of objects in the whole file.
import { platform } from '#platform';
import { utf8Bytes } from '../bytes.ts';
import { Stop } from '../exit.ts';
import { isRejectsHeader, reasonColumn, rowColumn } from '../kinds.ts';
import { Wrong, type Cell } from '../mapping/convert.ts';
import { idIn, itemsOfObjects, type Item } from '../mapping/items.ts';
import { encodingByBom } from './encodings.ts';
import { placeOf, type Input, type Looked, type RejectsForm, type Row, type Source } from './source.ts';
import { recordBytesMax, Splitter } from './splitter.ts';
import { firstBytes, withoutStart } from './start.ts';

/** The limit on the size of a file with one array, because the whole file is read into memory. */
const wholeBytesMax = 64 * 1024 * 1024;
const bomBytesMax = 3;
const sampleRows = 1_000;

export async function openNdjson(input: Input): Promise<Source> {
  const where = placeOf(input);
  const make = itemsOfObjects(input.kind, input.rules);
  const form = { delimiter: undefined, quotes: false, where };
  const bytes = async (): Promise<AsyncIterable<Uint8Array>> => {
    const begun = await firstBytes(platform.stream(input.path), bomBytesMax);
    const bom = encodingByBom(begun.start);
    if (bom !== undefined && bom.encoding !== 'utf-8')
      throw new Stop(`${where} is ${bom.encoding}: JSON is UTF-8.`);
    return withoutStart(begun.all(), bom?.bomBytes ?? 0);
  };

  const first = await readFirstLine(await bytes());
  if (first.startsWith('[')) throw new Stop(`${where} is one JSON array: name it .json.`);
  const counting = new Splitter(form);
  for await (const chunk of await bytes()) counting.count(chunk);
  counting.end();
  return {
    input,
    total: counting.records,
    rowsBefore: 0,
    notes: ['one JSON object a line'],
    isRejects: isRejectsRow(parseLine(first)),
    make: (raw) => makeText(String(raw), make),
    async *rows() {
      const splitter = new Splitter(form);
      let number = 0;
      const read = (block: Uint8Array): Row[] => {
        const rows: Row[] = [];
        const lines = decode(block).split(/\r\n|\n|\r/);
        const makeIn = platform.isUtf8(block) ? makeText : makeBroken;
        // The empty text after the last line end is no line.
        if (lines.at(-1) === '') lines.pop();
        for (const line of lines) {
          number += 1;
          if (line.trim() !== '') rows.push({ number, made: makeIn(line, make), raw: line });
        }
        return rows;
      };
      for await (const chunk of await bytes()) {
        const block = splitter.push(chunk);
        if (block !== undefined) yield read(block);
      }
      const rest = splitter.end();
      if (rest !== undefined) yield read(rest);
    },
    rejects: ndjsonRejects,
    columns: columnsIn(input),
  };
}

/** The keys of fields that a map names. Without a map there are none, and objects are sent unchanged. */
const columnsIn = ({ rules: { columns = {} } }: Input): ReadonlyMap<string, string> =>
  new Map(Object.entries(columns).flatMap(([key, field]) => (field === null ? [] : [[field, key]])));

const isRejectsRow = (row: unknown): boolean => isItem(row) && isRejectsHeader(Object.keys(row));

async function readFirstLine(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const { start } = await firstBytes(bytes, recordBytesMax, true);
  return firstLineOf(decode(start));
}

const decode = (block: Uint8Array): string => platform.utf8(block);

const firstLineOf = (text: string): string => text.trimStart().split(/[\r\n]/, 1)[0] ?? '';

type Make = (row: Item) => Item | Wrong;

/** Makes an item of a line of a block that is no UTF-8. */
function makeBroken(line: string, make: Make): Item | Wrong {
  const made = makeText(line, make);
  if (!line.includes('\ufffd')) return made;
  return new Wrong('the line has a byte that is no UTF-8', idIn(made));
}

function makeText(text: string, make: Make): Item | Wrong {
  const parsed = parseLine(text);
  return parsed instanceof Wrong ? parsed : make(parsed);
}

function parseLine(line: string): Item | Wrong {
  try {
    const value: unknown = JSON.parse(line);
    return isItem(value) ? value : new Wrong('the line is no JSON object');
  } catch (error) {
    return new Wrong(`the line is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

export async function openJson(input: Input): Promise<Source> {
  const where = placeOf(input);
  const begun = await firstBytes(platform.stream(input.path), wholeBytesMax + 1, true);
  if (begun.start.length > wholeBytesMax) {
    throw new Stop(`${where} is over 64 MiB: make it one object a line (jq -c '.[]'), and name it .ndjson.`);
  }
  const bom = encodingByBom(begun.start);
  const bytes = begun.start.subarray(bom?.bomBytes ?? 0);
  if ((bom?.encoding ?? 'utf-8') !== 'utf-8' || !platform.isUtf8(bytes))
    throw new Stop(`${where} is no UTF-8, as JSON has to be.`);
  const { rows, notes } = arrayIn(decode(bytes), input, where);
  const make = itemsOfObjects(input.kind, input.rules);
  return {
    input,
    total: rows.length,
    rowsBefore: 0,
    notes,
    isRejects: isRejectsRow(rows[0]),
    make: (raw) => makeText(String(raw), make),
    async *rows() {
      yield rows.map((row, index) => ({
        number: index + 1,
        made: isItem(row) ? make(row) : new Wrong('the entry is no JSON object'),
        raw: jsonOf(row),
      }));
    },
    rejects: ndjsonRejects,
    columns: columnsIn(input),
  };
}

interface Found {
  rows: unknown[];
  notes: string[];
}

/** Finds the array in a file that is the array itself, the body of a push, or an answer of OData 4 or 2. */
function arrayIn(text: string, { kind }: Input, where: string): Found {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (!(parseLine(firstLineOf(text)) instanceof Wrong))
      throw new Stop(`${where} has one JSON object a line: name it .ndjson.`);
    throw new Stop(`${where} is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  const inner = isItem(value) ? value[kind] : value;
  if (Array.isArray(inner)) return { rows: inner, notes: ['a JSON array'] };
  const answer = isItem(value) && isItem(value['d']) ? value['d'] : isItem(value) ? value : {};
  const rows = [answer['value'], answer['results'], isItem(value) ? value['d'] : undefined].find((one) =>
    Array.isArray(one),
  );
  if (rows === undefined)
    throw new Stop(`${where} is neither an array nor {"${kind}": […]} nor {"value": […]}.`);
  const isPage = '@odata.nextLink' in answer || '__next' in answer;
  return {
    rows: rows.map(withoutNotes),
    notes: ['an answer of OData', ...(isPage ? ['one page of several: the others are in no file'] : [])],
  };
}

/** A row of OData without its metadata. */
const withoutNotes = (row: unknown): unknown =>
  isItem(row)
    ? Object.fromEntries(
        Object.entries(row).filter(
          ([key, value]) =>
            !key.includes('@') && key !== '__metadata' && !(isItem(value) && '__deferred' in value),
        ),
      )
    : row;

const isItem = (value: unknown): value is Item =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** JSON with an infinite number as a text, which the service refuses again. JSON itself has null, which clears the field. */
export const jsonOf = (row: unknown): string =>
  JSON.stringify(row, (_key, value: unknown) =>
    value === Infinity || value === -Infinity ? String(value) : value,
  );

/** Rejected rows as NDJSON. A line that is no JSON object is written as the value of `#line`. */
export const ndjsonRejects: RejectsForm = {
  extension: '.ndjson',
  head: new Uint8Array(),
  line({ raw, number }, reason) {
    const parsed = parseLine(String(raw));
    const row = parsed instanceof Wrong ? { '#line': raw } : parsed;
    return utf8Bytes(`${jsonOf({ ...row, [rowColumn]: number, [reasonColumn]: reason })}\n`);
  },
};

/** Describes a JSON file: the keys of its objects are the columns. */
export async function lookAtJson(input: Input): Promise<Looked> {
  // The columns of the map are ignored, so that the description also has keys that the map lacks or misspells.
  const { columns: _columns, ...rules } = input.rules;
  const plain = { ...input, rules };
  const opener = input.format === 'json' ? openJson : openNdjson;
  const source = await opener(plain);
  const objects: Item[] = [];
  for await (const rows of source.rows()) {
    for (const { raw } of rows.slice(0, sampleRows - objects.length)) {
      const parsed = parseLine(String(raw));
      if (!(parsed instanceof Wrong)) objects.push(parsed);
    }
    if (objects.length >= sampleRows) break;
  }
  const header = [...new Set(objects.flatMap((one) => Object.keys(one)))];
  return {
    look: {
      encoding: undefined,
      delimiter: undefined,
      headerRow: 0,
      rows: source.total,
      header,
      sample: objects.map((one) => header.map((key) => asCell(one[key]))),
    },
    open: () => opener(input),
  };
}

const asCell = (value: unknown): Cell =>
  typeof value === 'object' ||
  typeof value === 'string' ||
  typeof value === 'number' ||
  typeof value === 'boolean'
    ? value
    : undefined;
