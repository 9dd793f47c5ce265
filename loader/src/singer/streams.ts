// The streams of a tap: which kind of records each holds, and how its records become items.
import type { Kind } from '@integration-sync/client';
import { Stop } from '../exit.ts';
import { bindColumns } from '../mapping/columns.ts';
import { itemsOfObjects, type Item, type MakeItem } from '../mapping/items.ts';
import type { Rules } from '../mapping/map.ts';
import { kindByName } from '../reading/inputs.ts';

export interface Stream {
  name: string;
  kind: Kind;
  make: MakeItem<Item>;
  /** The version of its records, and up to which time records were known before the first of them. */
  version: number | undefined;
  mark: string | undefined;
  /** Of this version: they count as loaded. */
  rejectedIds: string[];
}

/** `rules` are what the settings say of the stream. */
export function openStream(name: string, properties: readonly string[], rules: Rules): Stream {
  const kind = rules.kind ?? kindOf(name);
  const { bound } = bindColumns(properties, { ...rules, kind }, `stream ${name}`);
  const columns: Record<string, string | null> = {};
  for (const property of properties) columns[property] = null;
  for (const { column, field } of bound) columns[column] = field;
  return {
    name,
    kind,
    make: itemsOfObjects(kind, { ...rules, columns }),
    version: undefined,
    mark: undefined,
    rejectedIds: [],
  };
}

/** Taps put the schema of a database, or the name of a file, before a table's. */
function kindOf(name: string): Kind {
  const parts = name.split(/[-.:/]/);
  const kind = kindByName(name) ?? kindByName(parts.at(-1) ?? '');
  if (kind !== undefined) return kind;
  throw new Stop(
    `The stream ${name} is of no kind: name it in the settings, {"streams":{"${name}":{"kind":"suppliers"}}}.`,
  );
}
