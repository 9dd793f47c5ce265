// One push's items by the record that they speak of, and what becomes of a record under them. The same
// externalId twice is two items of one record, applied in the order of the array.
import { isSame, withChanges, type Changes, type FieldReader } from './changes.ts';
import type { FieldValue, Fields, Item } from '../kind.ts';

export interface PushedRecord {
  /** Its index among the records of the push; it names the record's place in creation order and its events. */
  place: number;
  internalId: string;
  externalId: string;
  items: readonly Item[];
  /** Where its items stand in the pushed array. */
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
      const internalId = internalIdOf(externalId);
      records.set(externalId, {
        place: records.size,
        internalId,
        externalId,
        items: [item],
        positions: [position],
      });
    } else {
      known.items.push(item);
      known.positions.push(position);
    }
  }
  return [...records.values()];
}

export interface Folded {
  fields: Fields;
  /** From what was there before to what is there after; nothing for a record that is new. */
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

/** A field that two items changed there and back has not changed. */
function differences(reader: FieldReader, before: Fields, after: Fields): Changes {
  // Nearly always nothing was changed at all, and then it is the same object.
  if (before === after) return nothing;
  const changes = new Map<string, FieldValue | undefined>();
  for (const name of reader.names) {
    if (!isSame(before[name], after[name])) changes.set(name, after[name]);
  }
  return changes;
}
