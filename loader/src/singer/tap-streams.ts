// The streams of a Singer tap: the kind of records of each stream, and how its records become items.
import type { Kind } from '@integration-sync/client';
import { Stop } from '../core/exit.ts';
import { bindColumns } from '../core/mapping/columns.ts';
import { itemsOfObjects, type Item, type MakeItem } from '../core/mapping/items.ts';
import type { Rules } from '../core/mapping/map.ts';
import { kindByName } from '../core/reading/inputs.ts';

export interface Stream {
  name: string;
  kind: Kind;
  make: MakeItem<Item>;
  /** The version of the stream's records; `mark` is the `X-Next-Since` before the first record of that version. */
  version: number | undefined;
  mark: string | undefined;
  /** Ids of rejected records of this version. They count as loaded, so that they are not archived. */
  rejectedIds: string[];
}

/** Opens a stream; `rules` are the settings of the stream. */
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

/** In the name of a stream, Singer taps put the schema of the database, or a file name, before the name of the table. */
function kindOf(name: string): Kind {
  const parts = name.split(/[-.:/]/);
  const kind = kindByName(name) ?? kindByName(parts.at(-1) ?? '');
  if (kind !== undefined) return kind;
  throw new Stop(
    `The stream ${name} has no kind of records: name a kind in the settings, {"streams":{"${name}":{"kind":"suppliers"}}}.`,
  );
}
