import { encodeErrors, Failure, readOneOf, requestHeaders } from '@integration-sync/contracts';
import { seal, unseal } from '@integration-sync/runtime/seal';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openCursor, sealCursor, type Cursor } from '../../../shared/sync/src/listing/cursor.ts';
import { completeUntil } from '../../../shared/sync/src/watermarks.ts';
import { choosePlan } from '../../../shared/sync/src/listing/find-page.ts';
import { linkToNext, readPageAsked } from '../../../shared/sync/src/listing/listing-request.ts';

const key = Buffer.alloc(32, 1);
const listing = 'acme/suppliers';
const cursorSeal = { key, listing };
const cursor: Cursor = {
  after: 'sync_0001-499',
  page: 3,
  limit: 20,
  since: new Date('2026-03-31T09:26:53.589Z'),
  filters: {},
  until: 'sync_0002',
  nextSince: new Date('2026-04-01T00:00:00.000Z'),
  total: 1_234,
  shown: 40,
};

describe('a cursor of a listing', () => {
  it('returns its content when it is opened', () => {
    fc.assert(
      fc.property(
        fc.record({
          after: fc.stringMatching(/^[a-z0-9_-]+$/),
          page: fc.integer({ min: 1 }),
          limit: fc.integer({ min: 1, max: 100 }),
          since: fc.option(fc.date({ noInvalidDate: true }), { nil: undefined }),
          filters: fc.dictionary(fc.stringMatching(/^[a-zA-Z]+$/), fc.string()),
          until: fc.option(fc.stringMatching(/^[a-z0-9_-]+$/), { nil: undefined }),
          nextSince: fc.option(fc.date({ noInvalidDate: true }), { nil: undefined }),
          total: fc.option(fc.nat(), { nil: undefined }),
          shown: fc.nat(),
        }),
        (drawn) => {
          // What was shown is said beside a total alone.
          const given = drawn.total === undefined ? { ...drawn, shown: 0 } : drawn;
          const sealed = sealCursor(key, listing, given);
          expect(sealed).toMatch(/^[A-Za-z0-9_-]+$/);
          expect(openCursor(key, listing, sealed)).toEqual(given);
        },
      ),
    );
  });

  it('of release 1.1.0 has no counts, and release 1.1.0 reads a cursor of this release without its counts', () => {
    for (const filters of [{}, { failed: 'true' }]) {
      const counted = { ...cursor, filters };
      const { total: _total, shown: _shown, ...former } = counted;
      const text = new URLSearchParams(filters).toString();
      const parts = [
        '',
        cursor.after,
        3,
        20,
        cursor.since?.getTime(),
        cursor.until,
        cursor.nextSince?.getTime(),
      ];
      const written = [...parts, ...(text === '' ? [] : [text])].join(' ');
      const version = text === '' ? '1' : '2';
      expect(openCursor(key, listing, seal(key, listing, `${version}${written}`))).toEqual({
        ...former,
        total: undefined,
        shown: 0,
      });
      const content = unseal(key, listing, sealCursor(key, listing, counted)) ?? '';
      expect(content.split(' ').slice(0, 8)).toEqual(`${version}${parts.join(' ')} ${text}`.split(' '));
    }
  });

  it('opens for its integration, kind and key alone', () => {
    const sealed = sealCursor(key, listing, cursor);
    expect(openCursor(key, 'other/suppliers', sealed)).toBeUndefined();
    expect(openCursor(key, 'acme/products', sealed)).toBeUndefined();
    expect(openCursor(Buffer.alloc(32, 2), listing, sealed)).toBeUndefined();
  });

  it('does not open with a character changed, added or left out', () => {
    const sealed = sealCursor(key, listing, cursor);
    for (let index = 0; index < sealed.length; index += 1) {
      const [before, after] = [sealed.slice(0, index), sealed.slice(index + 1)];
      const other = sealed[index] === 'A' ? 'B' : 'A';
      for (const text of [
        `${before}${other}${after}`,
        `${before}${after}`,
        `${before}A${sealed.slice(index)}`,
      ]) {
        expect(openCursor(key, listing, text)).toBeUndefined();
      }
    }
    expect(openCursor(key, listing, `${sealed}=`)).toBeUndefined();
    expect(openCursor(key, listing, `${sealed}.`)).toBeUndefined();
  });

  it.each([
    ['1', {}],
    ['2', { failed: 'true' }],
    ['3', { until: '2026-03-31T00:00:00.000Z' }],
    ['3', { failed: 'true', details: 'true' }],
    ['4', { changedSince: '2026-03-31T00:00:00.000Z' }],
    ['4', { changedSince: '2026-03-31T00:00:00.000Z', until: '2026-04-01T00:00:00.000Z' }],
    ['5', { status: 'DRAFT' }],
    ['5', { client: 'erp', failed: 'true' }],
  ])('begins with %s, so that a release without the filters %j refuses the cursor', (version, filters) => {
    const sealed = sealCursor(key, listing, { ...cursor, filters });
    const content = unseal(key, listing, sealed) ?? '';
    expect(content).toMatch(new RegExp(`^${version}\\W`));
    expect(openCursor(key, listing, sealed)).toEqual({ ...cursor, filters });
    for (const later of ['6', '10', '']) {
      expect(openCursor(key, listing, seal(key, listing, content.replace(version, later)))).toBeUndefined();
    }
  });

  it.each(['', 'a', 'null', '%', 'eyJhIjoxfQ', 'é', ' ', '../../etc/passwd', 'A'.repeat(5_000)])(
    'is invalid when it is %j',
    (text) => {
      expect(openCursor(key, listing, text)).toBeUndefined();
    },
  );
});

function ask(query: string, headers: Record<string, string> = {}) {
  const request = { headers: new Map([[requestHeaders.query, query] as const, ...Object.entries(headers)]) };
  return readPageAsked(request, cursorSeal, (parameters, errors) => {
    const colour = readOneOf(parameters, 'colour', ['red', 'blue'], errors);
    return colour === undefined ? {} : { colour };
  });
}

function refusal(query: string, headers: Record<string, string> = {}): Failure {
  try {
    ask(query, headers);
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error(`${query} was taken`);
}

describe('the requested page', () => {
  const sealed = sealCursor(key, listing, cursor);

  it('is a numbered page where the query has no cursor', () => {
    expect(ask('page=2&limit=5')).toEqual({ page: 2, limit: 5, filters: {}, shown: 0 });
  });

  it('is the page of its cursor', () => {
    expect(ask(`cursor=${sealed}`)).toEqual(cursor);
  });

  it('may repeat the parameters of the cursor', () => {
    expect(ask(`cursor=${sealed}&limit=20&since=2026-03-31T11:26:53.589%2B02:00`)).toEqual(cursor);
  });

  it.each([
    ['limit=21', 'limit: expected the 20 that the cursor keeps, or none'],
    ['since=2026-03-31', 'since: expected the value that the cursor keeps, or none'],
    ['page=3', 'page: expected none beside a cursor'],
  ])('cannot have a cursor and a different %s', (query, detail) => {
    expect(refusal(`cursor=${sealed}&${query}`)).toMatchObject({ code: 'invalid_request', detail });
  });

  it('cannot have an invalid cursor', () => {
    expect(refusal('cursor=abc')).toMatchObject({
      code: 'invalid_request',
      errors: [{ pointer: 'cursor' }],
    });
  });

  it('is refused with the errors of the gateway and of the service together', () => {
    const errors = [{ pointer: 'ü\n', detail: 'unknown parameter "ü\n": none is known here' }];
    const headers = { [requestHeaders.queryErrors]: encodeErrors(errors) };
    expect(refusal('page=1', headers)).toMatchObject({ code: 'invalid_request', errors });
    expect(refusal('page=0', headers).errors).toMatchObject([...errors, { pointer: 'page' }]);
  });

  it('keeps the filters of its cursor, and may repeat them in the query', () => {
    const narrowed = { ...cursor, filters: { colour: 'red' } };
    const kept = sealCursor(key, listing, narrowed);
    expect(ask('colour=red')).toMatchObject({ filters: { colour: 'red' } });
    expect(ask(`cursor=${kept}`)).toEqual(narrowed);
    expect(ask(`cursor=${kept}&colour=red&limit=20`)).toEqual(narrowed);
  });

  it.each([
    [{ colour: 'red' }, 'colour=blue'],
    [{}, 'colour=red'],
  ])('cannot have a cursor with the filters %j beside the query %s', (filters, query) => {
    const kept = sealCursor(key, listing, { ...cursor, filters });
    expect(refusal(`cursor=${kept}&${query}`)).toMatchObject({
      code: 'invalid_request',
      errors: [{ pointer: 'colour', detail: 'colour: expected the value that the cursor keeps, or none' }],
    });
  });

  it.each([
    ['page=0&limit=x&since=never&colour=green', ['page', 'limit', 'since', 'colour']],
    ['page=2&limit=x&colour=green&cursor=abc', ['limit', 'colour', 'page', 'cursor']],
    ['page=0&cursor=abc', ['page', 'cursor']],
    [`page=2&limit=21&since=2026-03-31&colour=red&cursor=${sealed}`, ['page', 'limit', 'since', 'colour']],
    [`page=0&limit=0&since=never&colour=green&cursor=${sealed}`, ['page', 'limit', 'since', 'colour']],
    [`cursor=${sealed}&cursor=${sealed}&page=2`, ['cursor', 'page']],
  ])('is refused with all errors, each once: %#', (query, pointers) => {
    expect(refusal(query).errors?.map(({ pointer }) => pointer)).toEqual(pointers);
  });

  it('is linked by the page before', () => {
    const first = ask('page=2&limit=5&since=2026-03-31&colour=blue');
    const asked = { ...first, until: 'sync_9', nextSince: cursor.nextSince, total: 12, shown: 10 };
    const link = linkToNext('suppliers', cursorSeal, asked, 'sync_8-000');
    const [, query = ''] = /^<\/api\/v1\/integration\/suppliers\?([^>]+)>; rel="next"$/.exec(link) ?? [];
    expect(ask(query)).toEqual({
      after: 'sync_8-000',
      page: 3,
      limit: 5,
      since: new Date('2026-03-31'),
      filters: { colour: 'blue' },
      until: 'sync_9',
      nextSince: cursor.nextSince,
      total: 12,
      shown: 10,
    });
  });
});

describe('the plan to find a page of a listing with since', () => {
  it.each([
    [0, 1_000_000, 51, 'by-time'],
    [2_000, 1_000_000, 51, 'by-time'],
    [100_000, 1_000_000, 51, 'in-order'],
    [1_000_000, 1_000_000, 51, 'in-order'],
    [1_000_000, 1_000_000, 900_000, 'in-order'],
    [700_000, 1_000_000, 350_000, 'in-order'],
    [600_000, 1_000_000, 300_000, 'by-time'],
    [5_000, 1_000_000, 51, 'by-time'],
    [5_000, 0, 51, 'in-order'],
  ] as const)(
    'where %i of %i records match and %i matches are needed is %s',
    (matches, total, wanted, plan) => {
      expect(choosePlan(matches, total, wanted)).toBe(plan);
    },
  );

  it.each([
    [500_000, 700_000, 51, 'in-order', 499_999],
    [100_000, 700_000, 51, 'by-time', 99_999],
    [100_000, 700_000, 51, 'in-order', 50_000],
  ] as const)(
    'where %i of %i records match and %i matches are needed is %s if %i matches were created since',
    (...asked) => {
      const [matches, total, wanted, plan, created] = asked;
      expect(choosePlan(matches, total, wanted, created)).toBe(plan);
    },
  );
});

describe('the time up to which a listing is complete', () => {
  it('is the last stamp while no push writes', () => {
    expect(completeUntil({ stamp: 1_000, open: {} })).toEqual(new Date(1_000));
  });

  it('is before the beginning of a push that writes', () => {
    expect(completeUntil({ stamp: 1_000, open: { a: 990, b: 980 } })).toEqual(new Date(979));
    expect(completeUntil({ stamp: 1_000, open: { a: 1_000 } })).toEqual(new Date(999));
  });

  it('is 1970 where no push has written yet', () => {
    expect(completeUntil({ stamp: 0, open: {} }).toISOString()).toBe('1970-01-01T00:00:00.000Z');
  });
});
