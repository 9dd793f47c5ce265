import {
  Failure,
  quote,
  readListingQuery,
  refuseIfAny,
  type FailureEntry,
} from '@integration-sync/contracts';
import { describe, expect, it } from 'vitest';

function parse(query: string) {
  const errors: FailureEntry[] = [];
  const asked = readListingQuery(new URLSearchParams(query), errors);
  refuseIfAny(errors);
  return asked;
}

function failureOf(query: string): Failure {
  try {
    parse(query);
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error(`${query} was taken`);
}

describe('the query of a listing', () => {
  it('has defaults', () => {
    expect(parse('')).toEqual({ page: 1, limit: 50, since: undefined, cursor: undefined });
  });

  it('is read with its given values', () => {
    expect(parse('page=3&limit=20&since=2026-03-31T09:26:53.589Z&cursor=abc')).toEqual({
      page: 3,
      limit: 20,
      since: new Date('2026-03-31T09:26:53.589Z'),
      cursor: 'abc',
    });
  });

  it('clamps a limit over 100', () => {
    expect(parse('limit=100').limit).toBe(100);
    expect(parse('limit=101').limit).toBe(100);
    expect(parse(`limit=${'9'.repeat(400)}`).limit).toBe(100);
    expect(parse('limit=0000000000000000000025').limit).toBe(25);
  });

  it('accepts a page number after the last page', () => {
    expect(parse(`page=${'9'.repeat(400)}`).page).toBe(999_999_999_999_999);
  });

  it('reads a plus sign that was not percent-encoded as the sign of a time zone offset', () => {
    expect(parse('since=2026-03-31T09:26:53+02:00').since?.toISOString()).toBe('2026-03-31T07:26:53.000Z');
    expect(parse('since=2026-03-31T09:26:53%2B02:00').since?.toISOString()).toBe('2026-03-31T07:26:53.000Z');
  });

  it('ignores unknown parameters', () => {
    expect(parse('colour=red').page).toBe(1);
  });

  it.each(['0', '-1', '1.5', '1e3', '0x10', '', ' 1', '+1', 'ten', '٣', '0000'])(
    'refuses %j as a page and as a limit',
    (text) => {
      for (const name of ['page', 'limit']) {
        const failure = failureOf(`${name}=${encodeURIComponent(text)}`);
        expect(failure.code).toBe('invalid_request');
        expect(failure.detail).toBe(
          `${name}: expected a whole number of 1 or more, got ${JSON.stringify(text)}`,
        );
      }
    },
  );

  it('refuses a parameter that is given twice, even with the same value', () => {
    for (const name of ['page', 'limit', 'cursor']) {
      expect(failureOf(`${name}=1&${name}=1`).detail).toContain(`${name}: expected at most one value, got 2`);
    }
    expect(failureOf('since=2026-03-31&since=2026-03-31').detail).toContain(
      'since: expected at most one value',
    );
  });

  it('is refused with all errors together', () => {
    const failure = failureOf('page=0&limit=x&since=2024-02-30');
    expect(failure.errors?.map((entry) => entry.pointer)).toEqual(['page', 'limit', 'since']);
  });
});

describe('a quotation of a wrong value in an error', () => {
  it('escapes what could break a line', () => {
    expect(quote('a"b\nc')).toBe('"a\\"b\\nc"');
  });

  it('is cut after 40 characters, counted as code points', () => {
    expect(quote('x'.repeat(40))).toBe(`"${'x'.repeat(40)}"`);
    expect(quote('x'.repeat(41))).toBe(`"${'x'.repeat(40)}…"`);
    expect(quote('🌲'.repeat(41))).toBe(`"${'🌲'.repeat(40)}…"`);
  });

  it('is cut after 13 characters where escapes would double its length', () => {
    expect(quote('"'.repeat(41))).toBe(`"${'\\"'.repeat(40)}…"`);
    expect(quote('\u0001'.repeat(13))).toBe(`"${'\\u0001'.repeat(13)}"`);
    expect(quote('\u0001'.repeat(14))).toBe(`"${'\\u0001'.repeat(13)}…"`);
  });
});
