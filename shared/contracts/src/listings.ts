// The query and the answer of a listing. All listings of the interface have this shape.
import { Type, type Static, type TObject, type TProperties, type TSchema } from 'typebox';
import type { FailureEntry } from './failure.ts';
import { limits } from './limits.ts';
import { quote } from './quote.ts';
import { parseInstant } from './time.ts';

export const ListingEntity = Type.Object(
  {
    externalId: Type.String({ description: "Caller's identifier; empty for an erased record" }),
    internalId: Type.String({ description: 'Service identifier' }),
    name: Type.String({ description: 'Record name; for a batch, its batch number' }),
    syncStatus: Type.String({ description: 'SYNCED, ARCHIVED or ERASED; other values may be added' }),
    lastSyncedAt: Type.String({
      format: 'date-time',
      description: 'Time of the last sync, UTC, to the millisecond',
    }),
  },
  { title: 'ListingEntity' },
);
export type ListingEntity = Static<typeof ListingEntity>;

/** The content of a record beyond its name, for a caller that asks with `details=true`. */
export interface RecordDetails {
  /** The fields as in a push, without `externalId`; a field that the record does not have is absent. */
  fields: Readonly<Record<string, unknown>>;
  createdBy: string;
  changedBy: string;
  changedAt: string;
  /** Only for a product; null if the product names no supplier. */
  supplierInternalId?: string | null;
  productInternalId?: string | null;
}

export interface RecordSchemas {
  /** The name of the kind in schemas, such as `Supplier`. */
  name: string;
  /** The schema of a pushed item. */
  item: TObject;
  /** The part of `details` about the record that a record of this kind refers to. */
  linked: TProperties;
}

export const detailedEntityOf = ({ name, item, linked }: RecordSchemas, erasable: boolean) => {
  const { externalId: _externalId, ...held } = item.properties;
  // An erased record has no fields.
  const fields = erasable ? Type.Partial(Type.Object(held)).properties : held;
  const details = Type.Object(
    {
      fields: Type.Object(fields, {
        title: `${name}Fields`,
        description:
          'The fields of the record, as in a push; a field that the record does not have is absent',
      }),
      createdBy: Type.String({ description: 'syncId of the push that created the record' }),
      changedBy: Type.String({ description: 'syncId of the push that last changed or created it' }),
      changedAt: Type.String({
        format: 'date-time',
        description: 'Time of the last change, UTC, to the millisecond; `changedSince` compares this time',
      }),
      ...linked,
    },
    { title: `${name}Details`, description: 'Only with `details=true`' },
  );
  return Type.Object(
    { ...ListingEntity.properties, details: Type.Optional(details) },
    { title: `Listed${name}` },
  );
};

export interface Listing<Entity> {
  entities: Entity[];
  total: number;
  page: number;
  limit: number;
}

export const listingOf = <T extends TSchema>(entity: T, title: string) =>
  Type.Object(
    {
      entities: Type.Array(entity),
      total: Type.Integer({ minimum: 0 }),
      page: Type.Integer({ minimum: 1 }),
      limit: Type.Integer({ minimum: 1, maximum: limits.pageSizeMax }),
    },
    { title },
  );

export type ListingQuery = ReturnType<typeof readListingQuery>;

/** The part of URLSearchParams that this file needs; contracts depends on no platform. */
export interface QueryParameters {
  getAll(name: string): string[];
}

/**
 * Reads `page`, `limit`, `since` and `cursor` by the rules of listings, and leaves other parameters alone. For a wrong
 * value it adds an entry to `errors` and returns the default.
 */
export function readListingQuery(query: QueryParameters, errors: FailureEntry[]) {
  const page = readNumber(query, 'page', { fallback: limits.pageDefault }, errors);
  const limit = Math.min(
    readNumber(query, 'limit', { fallback: limits.pageSizeDefault }, errors),
    limits.pageSizeMax,
  );
  const since = readInstant(query, 'since', errors);
  // The cursor as the caller sent it; only the listing that issued a cursor can open the cursor.
  const cursor = readOnce(query, 'cursor', errors);
  return { page, limit, since, cursor };
}

export const cursorExpected = 'expected a cursor from the Link header of this listing';

/** The values of parameters by their names; a time in milliseconds. */
type Kept = Readonly<Record<string, string | number | null | undefined>>;

/**
 * Adds to `errors` each parameter that may not stand beside a cursor: a page, and a value that differs from that of the cursor.
 * `kept` is undefined for a cursor that the listing did not issue.
 */
export function checkBesideCursor(
  query: QueryParameters,
  asked: Kept,
  kept: Kept | undefined,
  errors: FailureEntry[],
): void {
  const wrong = new Set(errors.map(({ pointer }) => pointer));
  const refuse = (name: string, detail: string): void => {
    // A parameter whose own value is wrong has an error already.
    if (query.getAll(name).length > 0 && !wrong.has(name))
      errors.push({ pointer: name, detail: `${name}: ${detail}` });
  };
  refuse('page', 'expected none beside a cursor');
  if (kept === undefined) {
    refuse('cursor', cursorExpected);
    return;
  }
  for (const name of Object.keys({ ...asked, ...kept })) {
    if ((asked[name] ?? null) === (kept[name] ?? null)) continue;
    const what = name === 'limit' ? String(kept[name]) : 'value';
    refuse(name, `expected the ${what} that the cursor keeps, or none`);
  }
}

export function readOneOf<Value extends string>(
  query: QueryParameters,
  name: string,
  values: readonly Value[],
  errors: FailureEntry[],
): Value | undefined {
  const text = readOnce(query, name, errors);
  const value = values.find((one) => one === text);
  if (text !== undefined && value === undefined) {
    const expected = values.length === 1 ? values[0] : `one of ${values.join(', ')}`;
    errors.push({ pointer: name, detail: `${name}: expected ${expected}, got ${quote(text)}` });
  }
  return value;
}

export function readOnce(query: QueryParameters, name: string, errors: FailureEntry[]): string | undefined {
  const values = query.getAll(name);
  if (values.length > 1) {
    errors.push({ pointer: name, detail: `${name}: expected at most one value, got ${values.length}` });
  }
  return values[0];
}

/** Larger pages and limits are read as this number, to which MongoDB can still count. */
const pastEveryEnd = 999_999_999_999_999;

interface NumberRule {
  fallback: number;
  /** The smallest number allowed; 1 unless given. */
  min?: number;
  max?: number;
}

/** Reads a whole number in plain digits. */
export function readNumber(
  query: QueryParameters,
  name: string,
  { fallback, min = 1, max = Infinity }: NumberRule,
  errors: FailureEntry[],
): number {
  const text = readOnce(query, name, errors);
  if (text === undefined) return fallback;
  const number = /^\d+$/.test(text) ? Math.min(Number(text), pastEveryEnd) : Number.NaN;
  if (number >= min && number <= max) return number;
  const expected =
    max === Infinity ? `a whole number of ${min} or more` : `a whole number from ${min} to ${max}`;
  errors.push({ pointer: name, detail: `${name}: expected ${expected}, got ${quote(text)}` });
  return fallback;
}

/** A `+` that a caller did not percent-encode arrives as a space, and only an offset can have a `+`. */
export function readInstant(query: QueryParameters, name: string, errors: FailureEntry[]): Date | undefined {
  const text = readOnce(query, name, errors);
  if (text === undefined) return undefined;
  const instant = parseInstant(text.replace(/ (?=\d\d:\d\d$)/, '+'));
  if (instant !== undefined) return instant;
  errors.push({
    pointer: name,
    detail: `${name}: expected a day such as 2026-03-31 or a date-time with Z or an offset, got ${quote(text)}`,
  });
  return undefined;
}
