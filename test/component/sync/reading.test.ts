// Records read back: by their ids, whole, and up to a time; and a caller that finds what its full load left
// out.
import type { Failure, ListingEntity, RecordDetails } from '@integration-sync/contracts';
import {
  array,
  assert as check,
  asyncProperty,
  boolean,
  constantFrom,
  option,
  record,
  sample,
  string,
  uniqueArray,
} from 'fast-check';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { openWorld, type Caller, type Plural, type World } from '../../support/sync.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
  await Promise.all([world.startCatalog(), world.startCatalog(), world.startBatches()]);
});
afterAll(() => world[Symbol.asyncDispose]());

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const query = (parameters: Record<string, string | readonly string[]>): string =>
  new URLSearchParams(
    Object.entries(parameters).flatMap(([name, value]) => [value].flat().map((one) => [name, one])),
  ).toString();
const idsOf = (entities: readonly { externalId: string }[]): string[] =>
  entities.map(({ externalId }) => externalId);

type Whole = ListingEntity & { details: RecordDetails };
const readWhole = async (caller: Caller, plural: Plural, more = {}): Promise<Whole[]> =>
  (await caller.listAll(plural, query({ details: 'true', limit: '100', ...more }))) as Whole[];

/** The failed items, with their messages. */
async function refusalOf(caller: Caller, plural: Plural, text: string) {
  const failure = await caller.list(plural, text).then(
    () => undefined,
    (error: Failure) => error,
  );
  return { code: failure?.code, pointers: failure?.errors?.map(({ pointer }) => pointer) };
}

const text = (max = 40) =>
  option(string({ unit: 'grapheme', minLength: 1, maxLength: max }), { nil: undefined });

describe('details', () => {
  it('have the pushed fields, and the pushes that created and changed the record', async () => {
    const caller = world.caller();
    const first = await caller.push('suppliers', [{ externalId: 's', name: 'N', country: 'se', code: null }]);
    await caller.push('products', [
      { externalId: 'p', name: 'P', supplierExternalId: 's' },
      { externalId: 'q', name: 'Q' },
    ]);
    await caller.push('batches', [
      {
        externalId: 'b',
        productExternalId: 'p',
        batchNumber: 'LOT',
        quantity: 0,
        receivedDate: '2026-03-31',
      },
    ]);
    const second = await caller.push('suppliers', [{ externalId: 's', name: 'N', certifications: ['FSC'] }]);
    // Changes nothing, and so has not changed it.
    await caller.push('suppliers', [{ externalId: 's', name: 'N' }]);
    const [supplier] = await readWhole(caller, 'suppliers');
    const [linked, unlinked] = await readWhole(caller, 'products');
    const [batch] = await readWhole(caller, 'batches');
    expect(supplier).toEqual({
      externalId: 's',
      internalId: first.records[0]?.internalId,
      name: 'N',
      syncStatus: 'SYNCED',
      lastSyncedAt: expect.any(String),
      details: {
        fields: { name: 'N', country: 'SE', certifications: ['FSC'] },
        createdBy: first.syncId,
        changedBy: second.syncId,
        changedAt: expect.any(String),
      },
    });
    expect(linked?.details).toMatchObject({
      fields: { name: 'P', supplierExternalId: 's' },
      supplierInternalId: supplier?.internalId,
    });
    expect(unlinked?.details).toMatchObject({ fields: { name: 'Q' }, supplierInternalId: null });
    expect(batch?.details).toMatchObject({
      fields: { productExternalId: 'p', batchNumber: 'LOT', quantity: 0, receivedDate: '2026-03-31' },
      productInternalId: linked?.internalId,
    });
  });

  it('are absent without details=true', async () => {
    const caller = world.caller();
    await caller.push('suppliers', [{ externalId: 's', name: 'N' }]);
    const plain = await caller.list('suppliers');
    expect(Object.keys(plain.entities[0] ?? {})).not.toContain('details');
    expect(await caller.list('suppliers', 'details=false')).toEqual(plain);
  });

  it('change nothing when they are pushed back', { timeout: 120_000 }, async () => {
    const caller = world.caller();
    const values = {
      name: string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 40 }).filter((name) => /\S/.test(name)),
      code: text(),
      address: text(200),
      contactPerson: text(),
      phone: text(),
      country: constantFrom('SE', 'de', undefined),
      certifications: option(array(string({ unit: 'grapheme', maxLength: 20 }), { maxLength: 5 }), {
        nil: undefined,
      }),
      isEuOrigin: option(boolean(), { nil: undefined }),
    };
    const generated = sample(record(values), 5_000).map((fields, n) =>
      Object.assign(fields, { externalId: `S-${n}` }),
    );
    for (let from = 0; from < generated.length; from += 500) {
      const { errors } = await caller.push('suppliers', generated.slice(from, from + 500));
      expect(errors).toEqual([]);
    }
    const whole = await readWhole(caller, 'suppliers');
    expect(idsOf(whole)).toEqual(idsOf(generated));
    for (const [n, { details }] of whole.entries()) {
      const { externalId: _externalId, ...fields } = generated[n] ?? { externalId: '' };
      const held = Object.entries(fields).filter(([, value]) => value !== undefined && value !== '');
      expect(details.fields).toEqual(
        Object.fromEntries(
          held.map(([name, value]) => [name, name === 'country' ? String(value).toUpperCase() : value]),
        ),
      );
    }
    const eventsBefore = (await caller.events()).length;
    for (let from = 0; from < whole.length; from += 500) {
      const some = whole.slice(from, from + 500);
      const { updated } = await caller.push(
        'suppliers',
        some.map(({ externalId, details }) => ({ externalId, ...details.fields })),
      );
      expect(updated).toBe(some.length);
    }
    const { entities: runs } = await caller.runs('limit=10');
    expect(runs.map(({ unchanged }) => unchanged)).toEqual(Array.from({ length: 10 }, () => 500));
    const events = await caller.events();
    const later = events.slice(eventsBefore).map(({ body }) => body.event);
    expect(later.filter((event) => event !== 'sync.completed')).toEqual([]);
  });

  it('of all records, even the largest, come in pages of at most 4 MiB', { timeout: 60_000 }, async () => {
    const caller = world.caller();
    const certifications = Array.from({ length: 100 }, () => '\u0001'.repeat(500));
    const large = (n: number) => ({
      externalId: `L-${n}`,
      name: 'N',
      address: '"'.repeat(1_000),
      certifications,
    });
    for (const from of [0, 15]) {
      await caller.push(
        'suppliers',
        range(15).map((n) => large(from + n)),
      );
    }
    const pages: number[] = [];
    const seen: string[] = [];
    for (let next: string | undefined = 'details=true'; next !== undefined;) {
      const page = await caller.list('suppliers', next);
      pages.push(Buffer.byteLength(JSON.stringify(page.entities)));
      seen.push(...idsOf(page.entities));
      expect(page.total).toBe(30);
      next = page.next;
    }
    expect(seen).toEqual(range(30).map((n) => `L-${n}`));
    expect(pages.length).toBeGreaterThan(1);
    expect(Math.max(...pages)).toBeLessThanOrEqual(4 * 1024 * 1024);
  });
});

describe('externalId', () => {
  const strange = ['..', 'a/b', 'é', '+', '%2F', 'a blank inside', '\u{1f332}'.repeat(255), '&details=true'];

  it('finds every id that a push accepts, in the caller’s own integration alone', async () => {
    const [caller, other] = [world.caller(), world.caller()];
    await caller.push(
      'suppliers',
      strange.map((externalId) => ({ externalId, name: 'N' })),
    );
    for (const externalId of strange) {
      const { entities, total } = await caller.list('suppliers', query({ externalId }));
      expect([idsOf(entities), total]).toEqual([[externalId], 1]);
    }
    expect(await other.list('suppliers', query({ externalId: strange }))).toMatchObject({
      entities: [],
      total: 0,
    });
  });

  it('finds several existing records in the order of creation, page by page', async () => {
    const caller = world.caller();
    await caller.push(
      'suppliers',
      range(200).map((n) => ({ externalId: `s${n}`, name: 'N' })),
    );
    const wanted = range(98).map((n) => `s${n * 2}`);
    const asked = query({ externalId: [...wanted.toReversed(), 'absent', wanted[0] ?? ''] });
    const first = await caller.list('suppliers', `${asked}&limit=40`);
    expect(first).toMatchObject({ total: 98, limit: 40 });
    const all = await caller.listAll('suppliers', `${asked}&limit=40`);
    expect(idsOf(all)).toEqual(wanted);
    // The cursor keeps the ids: a caller may repeat them, and may not change them.
    expect((await caller.list('suppliers', `${first.next}&${asked}`)).entities).toHaveLength(40);
    expect(await refusalOf(caller, 'suppliers', `${first.next}&externalId=s1`)).toEqual({
      code: 'invalid_request',
      pointers: ['externalId'],
    });
  });
});

describe('until', () => {
  it('before the year 0 gives an X-Next-Since that the next poll accepts', async () => {
    const caller = world.caller();
    await caller.push('suppliers', [{ externalId: 'a', name: 'N' }]);
    const { nextSince, entities } = await caller.list(
      'suppliers',
      query({ until: '0000-01-01T00:00:00+01:00' }),
    );
    expect(entities).toEqual([]);
    expect(idsOf((await caller.list('suppliers', query({ since: nextSince ?? '' }))).entities)).toEqual([
      'a',
    ]);
  });

  it('shows records last synced until that time', async () => {
    const caller = world.caller();
    await caller.push(
      'suppliers',
      range(5).map((n) => ({ externalId: `s${n}`, name: 'N' })),
    );
    const { nextSince: mark = '' } = await caller.list('suppliers');
    await caller.push('suppliers', [
      { externalId: 's1', name: 'N' },
      { externalId: 'new', name: 'N' },
    ]);
    const before = await caller.list('suppliers', query({ until: mark }));
    expect([idsOf(before.entities), before.total]).toEqual([['s0', 's2', 's3', 's4'], 4]);
    const after = await caller.list('suppliers', query({ since: mark }));
    expect(idsOf(after.entities)).toEqual(['s1', 'new']);
    // A record synchronised after `until` is for the poll that begins there.
    expect(before.nextSince).toBe(mark);
    const none = await caller.list('suppliers', query({ since: mark, until: mark }));
    expect([none.entities, none.total]).toEqual([[], 0]);
  });

  // Setup: an integration has some records. A load of some of them, and of new ones, goes on beside another
  // push of any of them. The caller took a mark before the load.
  // What this proves: `until` names no record of the load, and none but the rest.
  it('shows records that a full load did not push', { timeout: 300_000 }, async () => {
    const ids = range(12).map((n) => `r${n}`);
    const some = uniqueArray(constantFrom(...ids), { maxLength: 12 });
    await check(
      asyncProperty(some, some, some, async (there, load, beside) => {
        const caller = world.caller();
        const push = (several: readonly string[], name: string) =>
          caller.push(
            'suppliers',
            several.map((externalId) => ({ externalId, name })),
          );
        await push(there, 'N');
        const { nextSince: mark = '' } = await caller.list('suppliers');
        await Promise.all([push(load, 'N'), push(beside, 'M')]);
        const rest = new Set(idsOf(await caller.listAll('suppliers', query({ until: mark, limit: '5' }))));
        expect(rest).toEqual(new Set(there).difference(new Set(load)).difference(new Set(beside)));
      }),
      { numRuns: 150 },
    );
  });
});

it('a listing keeps all of its filters from page to page', async () => {
  const caller = world.caller();
  const pushed = range(60).map((n) => ({ externalId: `s${n}`, name: 'N' }));
  await caller.push('suppliers', pushed.slice(0, 20));
  const { nextSince: since = '' } = await caller.list('suppliers');
  await caller.push('suppliers', pushed.slice(10, 50));
  const { nextSince: until = '' } = await caller.list('suppliers');
  await caller.push('suppliers', pushed.slice(40));
  const externalId = range(60)
    .filter((n) => n % 2 === 0)
    .map((n) => `s${n}`);
  const asked = query({ since, until, externalId, details: 'true', limit: '4' });
  const all = (await caller.listAll('suppliers', asked)) as Whole[];
  expect(idsOf(all)).toEqual(range(15).map((n) => `s${10 + n * 2}`));
  expect(all.every(({ details }) => details.fields['name'] === 'N')).toBe(true);
});

describe('the query of a listing', () => {
  const long = 'x'.repeat(256);
  it.each([
    { asked: query({ externalId: range(101).map(String) }), pointers: ['externalId'] },
    { asked: 'externalId=', pointers: ['externalId'] },
    { asked: 'externalId=%20', pointers: ['externalId'] },
    { asked: `externalId=${long}&externalId=a%00b&externalId=right`, pointers: ['externalId', 'externalId'] },
    { asked: 'details=yes', pointers: ['details'] },
    { asked: 'details=true&details=true', pointers: ['details'] },
    { asked: 'details=true&page=2', pointers: ['page'] },
    { asked: 'until=2026-03-31&page=2', pointers: ['page'] },
    { asked: 'until=2026-03-31&page=1e1', pointers: ['page'] },
    { asked: 'until=yesterday', pointers: ['until'] },
    { asked: 'since=2026-04-01&until=2026-03-31', pointers: ['until'] },
    { asked: 'since=never&until=2026-03-31&details=1', pointers: ['since', 'details'] },
  ])('is refused with its wrong parameters ($pointers)', async ({ asked, pointers }) => {
    for (const plural of ['suppliers', 'products', 'batches'] as const) {
      expect(await refusalOf(world.caller(), plural, asked)).toEqual({ code: 'invalid_request', pointers });
    }
  });

  it('may have page=1 together with details, until or externalId', async () => {
    const caller = world.caller();
    await caller.push(
      'suppliers',
      range(3).map((n) => ({ externalId: `s${n}`, name: 'N' })),
    );
    const { entities } = await caller.list('suppliers', 'details=true&until=2126-01-01&page=1&limit=2');
    expect(idsOf(entities)).toEqual(['s0', 's1']);
    const second = await caller.list('suppliers', 'externalId=s0&externalId=s2&page=2&limit=1');
    expect(idsOf(second.entities)).toEqual(['s2']);
  });
});
