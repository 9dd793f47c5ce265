// From what an item says to what its record holds. Pure, and the only place that decides what is a change.
import type { TSchema } from 'typebox';
import { fieldNames, type Fields, type FieldValue, type Item, type Kind } from '../kind.ts';

export interface FieldReader {
  /** In the order of the kind's schema. */
  readonly names: readonly string[];
  /** What a record without a past holds after the item. */
  readNew(item: Item): Fields;
  /** The fields that the item changes: to a value, or to nothing. Those that stay what they are do not appear. */
  readChanges(before: Fields, item: Item): Changes;
}

export type Changes = ReadonlyMap<string, FieldValue | undefined>;

export function fieldReader(kind: Kind): FieldReader {
  const names = fieldNames(kind);
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
        // An absent field keeps what it is; null and empty text clear it.
        if (item[name] === undefined) continue;
        const value = stored(item[name]);
        if (!isSame(before[name], value)) changes.set(name, value);
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

/** How a right value is kept: as it was sent, but for the case of country codes and the sign of zero. */
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
