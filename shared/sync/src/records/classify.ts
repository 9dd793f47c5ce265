// Which records of a push are new, which change, and which stay as they are. What each action makes of a record that is
// archived or erased: items/sync-status.ts. Pure; what the database then says
// may move a new one to the others.
import { foldItems, type Folded, type PushedRecord } from '../items/fold.ts';
import type { FieldReader } from '../items/changes.ts';
import type { Fields } from '../kind.ts';

/** What was read of a record that is there already. */
export interface Stored {
  fields: Fields;
  /** The push that last changed it, or created it: two reads with the same one have seen the same fields. */
  push: string;
  /** Moves with every push that found the record as it should be, too. */
  lastSyncedAt: Date;
  /** What that push changed; nothing where it created the record. */
  changed?: readonly string[];
}

export interface Fresh {
  record: PushedRecord;
  folded: Folded;
}

export interface Known extends Fresh {
  stored: Stored;
}

export interface Sorted {
  fresh: Fresh[];
  changed: Known[];
  unchanged: Known[];
}

export function sortRecords(
  reader: FieldReader,
  records: readonly PushedRecord[],
  storedById: ReadonlyMap<string, Stored>,
): Sorted {
  const sorted: Sorted = { fresh: [], changed: [], unchanged: [] };
  // Mostly none of them is there, and V8 has a price for looking up a string that it has not seen before.
  const isAnyThere = storedById.size > 0;
  for (const record of records) {
    const stored = isAnyThere ? storedById.get(record.internalId) : undefined;
    const folded = foldItems(reader, stored?.fields, record.items);
    if (stored === undefined) sorted.fresh.push({ record, folded });
    else (folded.changes.size > 0 ? sorted.changed : sorted.unchanged).push({ record, folded, stored });
  }
  return sorted;
}
