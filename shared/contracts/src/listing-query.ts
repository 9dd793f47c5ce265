// The query of a listing: which values its parameters may have, and which parameters are allowed together with a cursor. Pure. The
// further parameters of a listing of records are in shared/sync, listing/listing-filters.ts.
import type { FailureEntry } from './failure.ts';
import { limits } from './limits.ts';
import { quote } from './quote.ts';
import { parseInstant } from './time.ts';

export type ListingQuery = ReturnType<typeof readListingQuery>;

/** The part of URLSearchParams that this file needs; contracts depends on no platform. */
export interface QueryParameters {
  getAll(name: string): string[];
}

/** Reads the parameters that every listing has. For a wrong value, it adds an entry to `errors` and returns the default. */
export function readListingQuery(query: QueryParameters, errors: FailureEntry[]) {
  const page = readNumber(query, 'page', { fallback: limits.pageDefault }, errors);
  const limit = Math.min(
    readNumber(query, 'limit', { fallback: limits.pageSizeDefault }, errors),
    limits.pageSizeMax,
  );
  const since = readInstant(query, 'since', errors);
  // The cursor is read as text, because only the listing that issued it can decrypt it.
  const cursor = readOnce(query, 'cursor', errors);
  return { page, limit, since, cursor };
}

export const cursorExpected = 'expected a cursor from the Link header of this listing';

/** The values in a cursor, by the names of their parameters; a time in milliseconds. */
type Kept = Readonly<Record<string, string | number | null | undefined>>;

/**
 * Adds an error for each parameter that is not allowed together with a cursor: a page, and a value that differs from the value in
 * the cursor. `kept` has the values in the cursor; undefined if the listing did not issue the cursor.
 */
export function checkBesideCursor(
  query: QueryParameters,
  asked: Kept,
  kept: Kept | undefined,
  errors: FailureEntry[],
): void {
  const wrong = new Set(errors.map(({ pointer }) => pointer));
  const refuse = (name: string, detail: string): void => {
    // A parameter gets no second error if its value is wrong by itself.
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

/** Larger values of `page` and `limit` are read as this number, which is still valid for MongoDB. */
const pastEveryEnd = 999_999_999_999_999;

interface NumberRule {
  fallback: number;
  /** The smallest allowed number; 1 by default. */
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

/** Reads a time. A space before the offset is read as `+`: a `+` that a caller does not percent-encode arrives as a space. */
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
