// Sorts the records of a push into new, changed and unchanged. A new record becomes a changed or an unchanged one if another
// push inserts it first (write.ts). What each action makes of an archived or erased record: items/archive-erase.ts. Pure.
import { foldItems, type Folded, type PushedRecord } from '../items/fold.ts';
import type { FieldReader } from '../items/field-changes.ts';
import type { RecordDocument } from './record-document.ts';

/** The fields that are read of an existing record. */
export type Stored = Pick<RecordDocument, 'fields' | 'push' | 'lastSyncedAt' | 'changed'>;

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
  for (const record of records) {
    const stored = storedById.get(record.internalId);
    const folded = foldItems(reader, stored?.fields, record.items);
    if (stored === undefined) sorted.fresh.push({ record, folded });
    else (folded.changes.size > 0 ? sorted.changed : sorted.unchanged).push({ record, folded, stored });
  }
  return sorted;
}
