// Groups the items of a push by record, and applies the items of a record in the order of the array. Items with the same externalId
// belong to one record. What one item changes (absent fields, null): field-changes.ts.
import { isSame, withChanges, type Changes, type FieldReader } from './field-changes.ts';
import type { FieldValue, Fields, Item } from '../kind.ts';

export interface PushedRecord {
  /** The index of the record among the records of the push; part of the record's `order` and of its event ids. */
  ordinal: number;
  internalId: string;
  externalId: string;
  items: readonly Item[];
  /** The indexes of the record's items in the pushed array. */
  positions: readonly number[];
}

export interface AcceptedItem {
  position: number;
  externalId: string;
  item: Item;
}

export function gatherRecords(
  accepted: readonly AcceptedItem[],
  internalIdOf: (externalId: string) => string,
): PushedRecord[] {
  const records = new Map<string, PushedRecord & { items: Item[]; positions: number[] }>();
  for (const { position, externalId, item } of accepted) {
    const known = records.get(externalId);
    if (known === undefined) {
      const ordinal = records.size;
      const internalId = internalIdOf(externalId);
      records.set(externalId, { ordinal, internalId, externalId, items: [item], positions: [position] });
    } else {
      known.items.push(item);
      known.positions.push(position);
    }
  }
  return [...records.values()];
}

export interface Folded {
  fields: Fields;
  /** The changes of an existing record; empty for a new record. */
  changes: Changes;
  /** How many of the items changed nothing. */
  idle: number;
}

export function foldItems(reader: FieldReader, before: Fields | undefined, items: readonly Item[]): Folded {
  let fields = before;
  let idle = 0;
  for (const item of items) {
    if (fields === undefined) {
      fields = reader.readNew(item);
      continue;
    }
    const changes = reader.readChanges(fields, item);
    if (changes.size === 0) idle += 1;
    else fields = withChanges(fields, changes);
  }
  const after = fields ?? {};
  return {
    fields: after,
    changes: before === undefined ? nothing : differences(reader, before, after),
    idle,
  };
}

const nothing: Changes = new Map();

/** Compares the fields before and after all items: a field that two items changed and changed back is unchanged. */
function differences(reader: FieldReader, before: Fields, after: Fields): Changes {
  // `foldItems` returns the same object if no item changed a field, which is the usual case.
  if (before === after) return nothing;
  const changes = new Map<string, FieldValue | undefined>();
  for (const name of reader.names) {
    if (!isSame(before[name], after[name])) changes.set(name, after[name]);
  }
  return changes;
}
