// What the loader understands of each file and sheet, before it sends anything.
import type { Kind } from '@integration-sync/client';
import {
  fieldsOfHeader,
  isHeader,
  isSavedAs,
  kinds,
  leftOut,
  lookAtTable,
  messageOf,
  neededOf,
  otherSheets,
  readMap,
  reasonColumn,
  resolveInputs,
  rowColumn,
  suggestedColumns,
  textOf,
  unreadableMap,
  type Input,
  type LoadMap,
  type Rules,
  type Source,
  type TableLook,
} from 'integration-sync/core';
import type { Column, Entry } from '../protocol.ts';
import { rejectsNameOf } from './outputs.ts';

/** A chosen file or sheet, with the source that reads its rows; it cannot be loaded without a source. */
export interface Held {
  entry: Entry;
  input: Input;
  source: Source | undefined;
  /** What the loader supposes the columns of an unknown header to be; a person may change it on the page. */
  suggested?: Rules['columns'];
}

/** Restores leading zeros that a spreadsheet has removed from the ids in a file of rejected rows. */
export type Mend = (source: Source) => Promise<Source>;

const valuesShown = 5;
const charactersShown = 60;

/** The id of a file or of a sheet, `PATH` or `PATH#SHEET`: the key of its rules in a map. */
export const idOf = ({ path, sheet }: Pick<Input, 'path' | 'sheet'>): string =>
  sheet === undefined ? path : `${path}#${sheet}`;

/** Reads a chosen file: the sheets that a load sends, and the other visible sheets, whose kind is perhaps unknown. */
export async function holdFile(file: string, map: LoadMap, rules: Rules, mend: Mend): Promise<Held[]> {
  let inputs: Input[];
  let problem: string | undefined;
  try {
    inputs = await resolveInputs({ files: [file], map, rules });
  } catch (error) {
    problem = messageOf(error);
    // Without a kind, `resolveInputs` throws. Any kind serves to find the sheets; `holdUnknown` then finds the right kind.
    const [any = 'suppliers'] = kinds;
    inputs = await resolveInputs({ files: [file], map, rules: { ...rules, kind: any } });
  }
  const held: Held[] = [];
  for (const input of inputs) {
    if (problem === undefined) held.push(await hold(input, input.kind, mend));
    else held.push(await holdUnknown(input, problem, mend));
  }
  for (const input of inputs.slice(0, 1))
    for (const sheet of await otherSheets(input, inputs))
      held.push(await holdUnknown({ ...input, sheet, rules: {} }, undefined, mend));
  return held;
}

/**
 * The ids of chosen files whose rejected rows are in `held`: loaded as well, these files would have the rows rejected again.
 * A file that was chosen together with its rejected rows stays. Adds a note about each left-out file.
 */
export function originalsOf(
  held: readonly Held[],
  others: readonly Held[],
  chosen: ReadonlySet<string>,
): string[] {
  return held.flatMap(({ entry }) => {
    const original = others.find(
      ({ entry: { file }, input, source }) =>
        entry.isRejects &&
        source !== undefined &&
        !chosen.has(file) &&
        isSavedAs(entry.file, rejectsNameOf(input, source.rejects)),
    );
    if (original === undefined) return [];
    const { id } = original.entry;
    entry.notes = [`${id} is left out: these are its rejected rows`, ...entry.notes];
    return [id];
  });
}

/** Reads an entry whose name tells no kind, as the kind whose needed columns its header has or suggests. */
async function holdUnknown(input: Input, problem: string | undefined, mend: Mend): Promise<Held> {
  const { kind: _kind, ...rules } = input.rules;
  const likely: Held[] = [];
  for (const kind of problem === undefined ? [] : kinds) {
    const held = await hold({ ...input, kind, rules }, kind, mend);
    const { columns } = held.entry;
    if (!neededOf(kind).every((field) => columns.some((one) => one.field === field))) continue;
    if (held.suggested === undefined) return held;
    likely.push(held);
  }
  const [only, other] = likely;
  if (only !== undefined && other === undefined) return only;
  const held = await hold({ ...input, rules }, undefined, mend);
  return { ...held, source: undefined, entry: { ...held.entry, problem } };
}

/** Reads an entry. If neither a rule nor the loader knows its columns, its header suggests them. */
export async function hold(given: Input, kind: Kind | undefined, mend: Mend, before?: Held): Promise<Held> {
  let look: TableLook | undefined;
  let source: Source | undefined;
  let problem: string | undefined;
  let input = given;
  let suggested = before?.suggested;
  // Columns that were suggested for another kind, or by other rules, are dropped.
  const { columns, ...others } = given.rules;
  if (columns === undefined || JSON.stringify(suggested) === JSON.stringify(columns)) {
    suggested = undefined;
    input = { ...given, rules: others };
  }
  try {
    let looked = await lookAtTable(input);
    const likely = kind === undefined ? undefined : suggestionFor(looked.look, input);
    if (likely !== undefined) {
      suggested = likely;
      input = { ...input, rules: { ...input.rules, columns: likely } };
      looked = await lookAtTable(input);
    }
    look = looked.look;
    source = await mend(await looked.open());
  } catch (error) {
    problem = messageOf(error);
  }
  const { path, sheet, rules, format } = input;
  // A person corrects the encoding and the delimiter also of a file that cannot be read.
  const unread = look === undefined && format === 'csv' ? '' : undefined;
  const entry: Entry = {
    id: idOf(input),
    file: path,
    sheet,
    kind,
    rules,
    encoding: look?.encoding ?? unread,
    delimiter: look?.delimiter ?? unread,
    headerRow: look?.headerRow ?? 0,
    rows: source?.total ?? look?.rows,
    columns: look === undefined ? [] : columnsOf(look, input, suggested),
    unused: look === undefined || kind === undefined ? [] : unusedOf(look, input),
    notes: source?.notes ?? [],
    isRejects: source?.isRejects ?? false,
    problem,
  };
  return { entry, input, source, ...(suggested === undefined ? {} : { suggested }) };
}

function suggestionFor({ header, sample }: TableLook, { kind, rules, format }: Input): Rules['columns'] {
  const isKnown =
    rules.columns !== undefined || !['csv', 'xlsx'].includes(format) || isHeader(header, { ...rules, kind });
  return isKnown ? undefined : suggestedColumns(header, sample, kind);
}

/** The columns that a load does not send. Of JSON it sends all keys, unless a map names columns. */
const unusedOf = ({ header }: TableLook, { kind, rules, format }: Input): string[] =>
  rules.columns === undefined && !['csv', 'xlsx'].includes(format) ? [] : leftOut(header, { ...rules, kind });

function columnsOf(
  { header, sample }: TableLook,
  { kind, rules }: Input,
  suggested: Rules['columns'],
): Column[] {
  const suggestions = new Map(Object.entries(suggested ?? {}));
  const fields = fieldsOfHeader(header, { ...rules, kind });
  const plain = fieldsOfHeader(header, { kind });
  return header.flatMap((name, at) => {
    if (name === rowColumn || name === reasonColumn) return [];
    const texts = sample.map((row) => textOf(row[at])).filter((text) => text !== '');
    return [
      {
        name,
        field: fields[at],
        isSuggested:
          fields[at] !== undefined && suggestions.get(name) === fields[at] && plain[at] !== fields[at],
        values: texts.slice(0, valuesShown).map((text) => text.slice(0, charactersShown)),
        filled: sample.length === 0 ? 0 : texts.length / sample.length,
      },
    ];
  });
}

export async function mapIn(file: File): Promise<LoadMap> {
  const text = await file.text().catch((cause: unknown) => {
    throw unreadableMap(file.name, cause);
  });
  return readMap(text, file.name);
}

/** The entries' kinds and rules as a map, for the loader's option `--map`. */
export const mapOf = (entries: readonly Entry[]): object =>
  Object.fromEntries(entries.map(({ id, kind, rules }) => [id, { ...(kind && { kind }), ...rules }]));
