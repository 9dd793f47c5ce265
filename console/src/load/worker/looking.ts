// What was understood of each file and sheet, before anything is sent.
import type { Kind } from '@integration-sync/client';
import {
  fieldsOfHeader,
  kinds,
  lookAtTable,
  messageOf,
  neededOf,
  otherSheets,
  readMap,
  reasonColumn,
  resolveInputs,
  rowColumn,
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

/** An entry with what reads it; without a source it cannot be loaded. */
export interface Held {
  entry: Entry;
  input: Input;
  source: Source | undefined;
}

const valuesShown = 5;
const charactersShown = 60;

/** Names a file, or a sheet of it, as a map does. */
export const idOf = ({ path, sheet }: Pick<Input, 'path' | 'sheet'>): string =>
  sheet === undefined ? path : `${path}#${sheet}`;

/** The sheets of a file that are loaded, and its other visible ones, without a kind. */
export async function holdFile(file: string, map: LoadMap, rules: Rules): Promise<Held[]> {
  let inputs: Input[];
  let problem: string | undefined;
  try {
    inputs = await resolveInputs({ files: [file], map, rules });
  } catch (error) {
    problem = messageOf(error);
    // If its kind is all that is not known, any will do to look at it.
    const [any = 'suppliers'] = kinds;
    inputs = await resolveInputs({ files: [file], map, rules: { ...rules, kind: any } });
  }
  const held: Held[] = [];
  for (const input of inputs) {
    if (problem === undefined) held.push(await hold(input, input.kind));
    else held.push(await holdUnknown(input, problem));
  }
  for (const input of inputs.slice(0, 1))
    for (const sheet of await otherSheets(input, inputs))
      held.push(await holdUnknown({ ...input, sheet, rules: {} }, undefined));
  return held;
}

/**
 * The ids of the files from which the rejected rows among `held` come, which would have these rows rejected again. A file
 * that was chosen together with its rejected rows is not one of them. Notes of the rejected rows say so.
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
        rejectsNameOf(input, source.rejects) === entry.file,
    );
    if (original === undefined) return [];
    const { id } = original.entry;
    entry.notes = [`${id} is left out: these are its rejected rows`, ...entry.notes];
    return [id];
  });
}

/** The kind by which all needed columns are there, if its name says none. */
async function holdUnknown(input: Input, problem: string | undefined): Promise<Held> {
  const { kind: _kind, ...rules } = input.rules;
  for (const kind of kinds) {
    const held = await hold({ ...input, kind, rules }, kind);
    const { columns } = held.entry;
    const isWhole = neededOf(kind).every((field) => columns.some((one) => one.field === field));
    if (problem !== undefined && isWhole) return held;
  }
  const held = await hold({ ...input, rules }, undefined);
  return { ...held, source: undefined, entry: { ...held.entry, problem } };
}

export async function hold(input: Input, kind: Kind | undefined): Promise<Held> {
  let look: TableLook | undefined;
  let source: Source | undefined;
  let problem: string | undefined;
  try {
    const looked = await lookAtTable(input);
    look = looked.look;
    source = await looked.open();
  } catch (error) {
    problem = messageOf(error);
  }
  const { path, sheet, rules } = input;
  const entry: Entry = {
    id: idOf(input),
    file: path,
    sheet,
    kind,
    rules,
    encoding: look?.encoding,
    delimiter: look?.delimiter,
    headerRow: look?.headerRow ?? 0,
    rows: source?.total ?? look?.rows,
    columns: look === undefined ? [] : columnsOf(look, input),
    notes: source?.notes ?? [],
    isRejects: source?.isRejects ?? false,
    problem,
  };
  return { entry, input, source };
}

function columnsOf({ header, sample }: TableLook, { kind, rules }: Input): Column[] {
  const fields = fieldsOfHeader(header, { ...rules, kind });
  return header.flatMap((name, at) => {
    if (name === rowColumn || name === reasonColumn) return [];
    const texts = sample.map((row) => textOf(row[at])).filter((text) => text !== '');
    return [
      {
        name,
        field: fields[at],
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

/** The map that `--map` takes. */
export const mapOf = (entries: readonly Entry[]): object =>
  Object.fromEntries(entries.map(({ id, kind, rules }) => [id, { ...(kind && { kind }), ...rules }]));
