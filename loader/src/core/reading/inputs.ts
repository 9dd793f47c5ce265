// Finds the kind and the format of each file, by its name unless a map or an option names the kind.
import { platform } from '#platform';
import type { Kind } from '@integration-sync/client';
import { Stop } from '../exit.ts';
import { kinds } from '../kinds.ts';
import { rulesFor, type LoadMap, type Rules } from '../mapping/map.ts';
import { lookAtCsv, openCsv } from './csv-source.ts';
import { lookAtJson, openJson, openNdjson } from './json-source.ts';
import { refuseForeign } from './signature.ts';
import { shortened, standardInput, type Format, type Input, type Looked, type Source } from './source.ts';
import { sheetsOf } from './workbook.ts';
import { lookAtXlsx, openXlsx } from './xlsx-source.ts';

export interface Wanted {
  files: readonly string[];
  map: LoadMap;
  /** The rules from the options of the command, which override those of the map. */
  rules: Rules;
}

const formats: Readonly<Record<string, Format>> = {
  csv: 'csv',
  tsv: 'csv',
  txt: 'csv',
  ndjson: 'ndjson',
  jsonl: 'ndjson',
  json: 'json',
  xlsx: 'xlsx',
};

/** Extensions of other formats, for which a message names the format. */
const foreign = /^(?:xls|ods|xlsb|xlsm|xml|html?|zip|pdf)$/;

/** The inputs in the order of loading: suppliers, then products, then batches; files of the same kind in the given order. */
export async function resolveInputs(wanted: Wanted): Promise<Input[]> {
  const inputs: Input[] = [];
  for (const file of wanted.files) inputs.push(...(await inputsOf(file, wanted)));
  return inputs.toSorted((one, other) => kinds.indexOf(one.kind) - kinds.indexOf(other.kind));
}

async function inputsOf(file: string, wanted: Wanted): Promise<Input[]> {
  const { map, rules: options } = wanted;
  if (file === standardInput) {
    const rules = { ...rulesFor(map, file), ...options };
    return [
      { path: file, kind: kindOf(file, rules, 'standard input'), format: 'csv', sheet: undefined, rules },
    ];
  }
  await platform.check(file);
  const name = platform.basename(file);
  const extension = /\.(\w+)(?:\.gz)?$/i.exec(name)?.[1]?.toLowerCase() ?? '';
  const format = formats[extension];
  if (format !== undefined || foreign.test(extension)) await refuseForeign(file, format);
  if (format === undefined) {
    throw new Stop(
      `${file}: its name says no format. Name it .xlsx, or .csv, .tsv, .txt, .ndjson or .json, also with .gz behind.`,
    );
  }
  const path = platform.resolve(file);
  if (format === 'xlsx') return inputsOfSheets(path, name, wanted);
  const rules = { ...rulesFor(map, name), ...options };
  return [{ path, kind: kindOf(name, rules, file), format, sheet: undefined, rules }];
}

/**
 * The sheets that a map names or whose names begin with a kind. If there is no such sheet: the first visible sheet.
 * The file name says its kind.
 */
async function inputsOfSheets(path: string, name: string, { map, rules: options }: Wanted): Promise<Input[]> {
  const sheets = await sheetsOf(path);
  const named = sheets.flatMap(({ name: sheet, isHidden }): Input[] => {
    const said = rulesFor(map, name, sheet);
    const kind = options.kind ?? said?.kind ?? kindByName(sheet);
    const isMapped = [...map.keys()].some((key) => key.endsWith(`#${sheet}`));
    // A hidden sheet is loaded only if the map names it, because the user may have forgotten it.
    const isTaken = isMapped || (!isHidden && kindByName(sheet) !== undefined);
    if (kind === undefined || !isTaken) return [];
    return [{ path, kind, format: 'xlsx', sheet, rules: { ...said, ...options } }];
  });
  if (named.length > 0) return named;
  const sheet = sheets.find(({ isHidden }) => !isHidden)?.name;
  const rules = { ...rulesFor(map, name, sheet), ...options };
  return [{ path, kind: kindOf(name, rules, path), format: 'xlsx', sheet, rules }];
}

/** The visible sheets of a workbook that are not among the inputs. */
export async function otherSheets({ path, format }: Input, inputs: readonly Input[]): Promise<string[]> {
  if (format !== 'xlsx') return [];
  const shown = (await sheetsOf(path)).filter(({ isHidden }) => !isHidden).map(({ name }) => name);
  return shown.filter((name) => !inputs.some(({ sheet }) => sheet === name));
}

function kindOf(name: string, rules: Rules, file: string): Kind {
  const kind = rules.kind ?? kindByName(name);
  if (kind !== undefined) return kind;
  throw new Stop(`${file}: its name begins with none of ${kinds.join(', ')}. ${platform.advice.kind}`);
}

/** The kind with which a name begins: `Suppliers_2026-03.csv` and `supplier.xlsx` are suppliers. */
export function kindByName(name: string): Kind | undefined {
  const lower = name.toLowerCase();
  return kinds.find((kind) => lower.startsWith(kind) || lower.startsWith(kind.replace(/e?s$/, '')));
}

const openers: Readonly<
  Record<Format, (input: Input, piped?: AsyncIterable<Uint8Array>) => Promise<Source>>
> = {
  csv: openCsv,
  ndjson: openNdjson,
  json: openJson,
  xlsx: openXlsx,
};

export async function openSource(input: Input, piped?: AsyncIterable<Uint8Array>): Promise<Source> {
  if (piped !== undefined) return openers[input.format](input, piped);
  const version = await platform.version(input.path);
  const source = await openers[input.format](input);
  return { ...source, rows: () => rowsOf(source, version) };
}

/** The rows of a file. Throws once the file has changed: the columns of the first pass may not be those of the changed file. */
async function* rowsOf(source: Source, version: string | undefined): ReturnType<Source['rows']> {
  const { path } = source.input;
  const check = async (): Promise<void> => {
    if (((await platform.version(path)) ?? version) !== version)
      throw new Stop(`${shortened(path)} was written to since the load began: load it once it is whole.`);
  };
  for await (const some of source.rows()) {
    await check();
    yield some;
  }
  // A file that was truncated has no further rows.
  await check();
}

const lookers: Readonly<Record<Format, (input: Input) => Promise<Looked>>> = {
  csv: lookAtCsv,
  ndjson: lookAtJson,
  json: lookAtJson,
  xlsx: lookAtXlsx,
};

/** Describes a file, even if it cannot be loaded. Not possible for standard input. */
export const lookAtTable = (input: Input): Promise<Looked> => lookers[input.format](input);
