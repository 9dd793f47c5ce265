// Turns an item into the fields of its record, and decides which fields the item changes. Pure.
// For an unchanged record, pushing/write.ts moves `lastSyncedAt`, push-answer.ts counts the item as updated, and
// announcing/announcement.ts makes no event.
import type { TSchema } from 'typebox';
import { fieldNames, type Fields, type FieldValue, type Item, type Kind } from '../kind.ts';

export interface FieldReader {
  /** The names of fields, in the order of the kind's schema. */
  readonly names: readonly string[];
  readNew(item: Item): Fields;
  /** The fields that the item changes, each with its new value, or undefined if the item clears the field. */
  readChanges(before: Fields, item: Item): Changes;
}

export type Changes = ReadonlyMap<string, FieldValue | undefined>;

export function fieldReader(kind: Kind): FieldReader {
  const names = fieldNames(kind);
  const companions = Object.entries(kind.companions ?? {});
  const readers = names.map((name) => ({ name, stored: storedForm(kind.schema.properties[name] ?? {}) }));
  return {
    names,
    readNew(item) {
      const fields: Record<string, FieldValue> = {};
      for (const { name, stored } of readers) {
        const value = stored(item[name]);
        if (value !== undefined) fields[name] = value;
      }
      return fields;
    },
    readChanges(before, item) {
      const changes = new Map<string, FieldValue | undefined>();
      for (const { name, stored } of readers) {
        // An absent field stays as it is; null and an empty string clear the field.
        if (item[name] === undefined) continue;
        const value = stored(item[name]);
        if (!isSame(before[name], value)) changes.set(name, value);
      }
      for (const [field, needed] of companions) {
        const isCleared = changes.has(needed) && changes.get(needed) === undefined;
        if (isCleared && before[field] !== undefined) changes.set(field, undefined);
      }
      return changes;
    },
  };
}

export function withChanges(before: Fields, changes: Changes): Fields {
  const after: Record<string, FieldValue> = { ...before };
  for (const [name, value] of changes) {
    if (value === undefined) delete after[name];
    else after[name] = value;
  }
  return after;
}

/** A valid value is stored as it was sent, except that country codes become upper case and -0 becomes 0. */
function storedForm(schema: TSchema & { format?: string }): (value: unknown) => FieldValue | undefined {
  if (schema.format === 'country' || schema.format === 'origin') {
    return (value) => (typeof value === 'string' && value !== '' ? value.toUpperCase() : undefined);
  }
  return (value) => {
    if (typeof value === 'string') return value === '' ? undefined : value;
    if (typeof value === 'number') return value + 0;
    if (typeof value === 'boolean') return value;
    return isTexts(value) ? value : undefined;
  };
}

const isTexts = (value: unknown): value is readonly string[] => Array.isArray(value);

export function isSame(one: FieldValue | undefined, other: FieldValue | undefined): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one.length !== other.length) return false;
  return one.every((text, index) => text === other[index]);
}
