// Listings by page and by cursor, under since, while others write, and what X-Next-Since promises.
import type { ListingEntity } from '@integration-sync/contracts';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { openWorld, pushPatiently, type Caller, type Listed, type World } from '../../support/sync.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
  await Promise.all([world.startCatalog(), world.startCatalog(), world.startBatches()]);
});
afterAll(() => world[Symbol.asyncDispose]());

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const supplier = (externalId: string, name = 'N') => ({ externalId, name });
const pushNumbered = (caller: Caller, from: number, to: number) =>
  caller.push(
    'suppliers',
    range(to - from).map((nth) => supplier(`s${from + nth}`)),
  );
const idsOf = ({ entities }: { entities: readonly { externalId: string }[] }): string[] =>
  entities.map(({ externalId }) => externalId);
const since = (time: string | undefined): string => `since=${encodeURIComponent(time ?? '')}`;

describe('a listing', () => {
  it('without records is empty', async () => {
    const caller = world.caller();
    expect(await caller.list('suppliers')).toEqual({
      entities: [],
      total: 0,
      page: 1,
      limit: 50,
      nextSince: '1970-01-01T00:00:00.000Z',
      next: undefined,
    });
  });

  it('has exactly the documented keys, and the true times', async () => {
    const caller = world.caller();
    const began = Date.now();
    const { records } = await caller.push('suppliers', [supplier('a', 'Name')]);
    const { entities } = await caller.list('suppliers');
    expect(entities).toEqual([
      {
        externalId: 'a',
        internalId: records[0]?.internalId,
        name: 'Name',
        syncStatus: 'SYNCED',
        lastSyncedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      },
    ]);
    const at = Date.parse(entities[0]?.lastSyncedAt ?? '');
    expect(at).toBeGreaterThanOrEqual(began);
    expect(at).toBeLessThanOrEqual(Date.now() + 1);
  });

  it('of batches shows each batch number as the name', async () => {
    const caller = world.caller();
    await caller.push('products', [{ externalId: 'p', name: 'P' }]);
    await caller.push('batches', [{ externalId: 'b', productExternalId: 'p', batchNumber: 'LOT 1' }]);
    expect((await caller.list('batches')).entities).toMatchObject([{ externalId: 'b', name: 'LOT 1' }]);
    expect((await caller.list('products')).entities).toMatchObject([{ externalId: 'p', name: 'P' }]);
  });

  it('is in the order of creation, also after updates', async () => {
    const caller = world.caller();
    await caller.push(
      'suppliers',
      ['c', 'a', 'b'].map((id) => supplier(id)),
    );
    await caller.push(
      'suppliers',
      ['e', 'd', 'a'].map((id) => supplier(id, 'M')),
    );
    await caller.push('suppliers', [supplier('b', 'M')]);
    expect(idsOf(await caller.list('suppliers'))).toEqual(['c', 'a', 'b', 'e', 'd']);
  });

  it('has pages, no next link on the last page, and empty pages after it', async () => {
    const caller = world.caller();
    await pushNumbered(caller, 0, 23);
    for (const [page, ids] of [
      [1, range(10)],
      [2, range(10).map((id) => 10 + id)],
      [3, [20, 21, 22]],
      [4, []],
      [999_999_999_999_999, []],
    ] as const) {
      const listed = await caller.list('suppliers', `page=${page}&limit=10`);
      expect(listed).toMatchObject({ total: 23, page, limit: 10 });
      expect(idsOf(listed)).toEqual(ids.map((id) => `s${id}`));
      expect(listed.next !== undefined).toBe(page < 3);
    }
    const whole = await caller.list('suppliers', 'limit=23');
    expect([whole.entities.length, whole.next]).toEqual([23, undefined]);
    expect(await caller.list('suppliers', 'limit=1000')).toMatchObject({ limit: 100, total: 23 });
  });

  it('is walked by cursors from any page on, with the same limit, since, total and X-Next-Since', async () => {
    const caller = world.caller();
    await pushNumbered(caller, 0, 5);
    const { nextSince } = await caller.list('suppliers');
    await pushNumbered(caller, 5, 25);
    const first = await caller.list('suppliers', `limit=7&${since(nextSince)}`);
    expect(first).toMatchObject({ total: 20, page: 1 });
    const second = await caller.list('suppliers', first.next);
    const third = await caller.list('suppliers', second.next);
    expect([second.page, third.page]).toEqual([2, 3]);
    expect([second.limit, second.total, third.total, third.next]).toEqual([7, 20, 20, undefined]);
    expect([...idsOf(first), ...idsOf(second), ...idsOf(third)]).toEqual(range(20).map((id) => `s${5 + id}`));
    await pushNumbered(caller, 25, 26);
    const later = await caller.list('suppliers', second.next);
    expect(later.nextSince).toBe(first.nextSince);
    const fromSecondPage = await caller.list('suppliers', 'page=2&limit=10');
    expect(idsOf(await caller.list('suppliers', fromSecondPage.next))).toEqual(
      range(6).map((id) => `s${20 + id}`),
    );
  });

  it('refuses a cursor that it did not issue', async () => {
    const [caller, other] = [world.caller(), world.caller()];
    await pushNumbered(caller, 0, 3);
    await caller.push(
      'products',
      range(3).map((id) => supplier(`p${id}`)),
    );
    await pushNumbered(other, 0, 3);
    const { next = '' } = await caller.list('suppliers', 'limit=1');
    expect(idsOf(await caller.list('suppliers', next))).toEqual(['s1']);
    const refused = { code: 'invalid_request' };
    await expect(other.list('suppliers', next)).rejects.toMatchObject(refused);
    await expect(caller.list('products', next)).rejects.toMatchObject(refused);
    await expect(caller.list('suppliers', `${next}A`)).rejects.toMatchObject(refused);
    await expect(caller.list('suppliers', `${next}&limit=2`)).rejects.toMatchObject(refused);
    await expect(caller.list('suppliers', 'cursor=')).rejects.toMatchObject(refused);
  });

  it.each([
    'page=0',
    'limit=0',
    'limit=ten',
    'page=1&page=1',
    'since=2024-02-30',
    'since=yesterday',
    'since=',
    'page=',
  ])('refuses %s', async (query) => {
    await expect(world.caller().list('suppliers', query)).rejects.toMatchObject({ code: 'invalid_request' });
  });
});

describe('since', () => {
  it('excludes records that were synced at exactly the given millisecond', async () => {
    const caller = world.caller();
    await caller.push('suppliers', [supplier('a')]);
    await caller.push('suppliers', [supplier('b')]);
    const [a, b] = (await caller.list('suppliers')).entities;
    expect(idsOf(await caller.list('suppliers', since(a?.lastSyncedAt)))).toEqual(['b']);
    expect(await caller.list('suppliers', since(b?.lastSyncedAt))).toMatchObject({ entities: [], total: 0 });
    const justBefore = new Date(Date.parse(b?.lastSyncedAt ?? '') - 1).toISOString();
    expect(idsOf(await caller.list('suppliers', since(justBefore)))).toEqual(['b']);
  });

  it('reads a day as its first millisecond in UTC, and heeds a time zone offset', async () => {
    const caller = world.caller();
    const today = new Date().toISOString().slice(0, 10);
    const at = new Date(Date.now() - 1_000).toISOString().replace('Z', '+00:00');
    await caller.push('suppliers', [supplier('a')]);
    const tomorrow = new Date(Date.now() + 24 * 60 * 60 * 1_000).toISOString().slice(0, 10);
    expect(await caller.list('suppliers', `since=${today}`)).toMatchObject({ total: 1 });
    expect(await caller.list('suppliers', `since=${tomorrow}`)).toMatchObject({ total: 0, entities: [] });
    expect(await caller.list('suppliers', since(at))).toMatchObject({ total: 1 });
  });

  it('shows records synced after the given time, changed or not, in the order of creation', async () => {
    const caller = world.caller();
    await pushNumbered(caller, 0, 6);
    const { nextSince } = await caller.list('suppliers');
    await caller.push('suppliers', [supplier('s4'), supplier('s1', 'M'), supplier('new')]);
    const listed = await caller.list('suppliers', since(nextSince));
    expect([idsOf(listed), listed.total]).toEqual([['s1', 's4', 'new'], 3]);
  });

  it('returns the value for the next poll, which shows only later pushes', async () => {
    const caller = world.caller();
    await pushNumbered(caller, 0, 3);
    let listed = await caller.list('suppliers');
    for (let index = 0; index < 5; index += 1) {
      listed = await caller.list('suppliers', since(listed.nextSince));
      expect(listed).toMatchObject({ entities: [], total: 0 });
      await caller.push('suppliers', [supplier(`n${index}`), supplier('s1')]);
      listed = await caller.list('suppliers', since(listed.nextSince));
      expect(idsOf(listed)).toEqual(['s1', `n${index}`]);
    }
  });

  it('shows a push in the poll that follows the push, and in no later poll', async () => {
    const caller = world.caller();
    await pushNumbered(caller, 0, 10);
    // Each replica has read it more than once.
    for (let page = 0; page < 20; page += 1) await caller.list('suppliers');
    const { nextSince: quiet } = await caller.list('suppliers');
    await caller.push('suppliers', [supplier('s3', 'other')]);
    const poll = await caller.list('suppliers', since(quiet));
    expect(idsOf(poll)).toEqual(['s3']);
    expect(idsOf(await caller.list('suppliers', since(poll.nextSince)))).toEqual([]);
    await caller.push('suppliers', [supplier('new')]);
    expect((await caller.list('suppliers')).total).toBe(11);
  });

  it('is fast for few and for many matches among many records', async () => {
    const caller = world.caller();
    for (let from = 0; from < 4_000; from += 500) await pushNumbered(caller, from, from + 500);
    const before = await caller.list('suppliers', 'limit=1');
    await caller.push(
      'suppliers',
      range(5).map((nth) => supplier(`s${nth * 700}`)),
    );
    const few = await caller.list('suppliers', since(before.nextSince));
    expect([idsOf(few), few.total]).toEqual([range(5).map((nth) => `s${nth * 700}`), 5]);
    const many = await caller.listAll('suppliers', `limit=100&since=2020-01-01`);
    expect(idsOf({ entities: many })).toEqual(range(4_000).map((id) => `s${id}`));
  });
});

/** When a push was sent, and when it was answered. */
interface Push {
  began: number;
  ended: number;
}

/** Pushes until a test stops it or disposes of it: new records, changed ones and unchanged ones. */
function startWriting(caller: Caller, writers: number, known: number) {
  const stop = new AbortController();
  const acknowledged = new Set<string>();
  const pushOf = new Map<string, Push>();
  const writing = Promise.all(
    range(writers).map(async (writer) => {
      for (let round = 0; !stop.signal.aborted; round += 1) {
        const fresh = range(10).map((nth) => supplier(`w${writer}-${round}-${nth}`));
        const old = range(20).map((nth) => supplier(`s${(nth * 37 + round * 11) % known}`, `M${round % 3}`));
        const push: Push = { began: Infinity, ended: Infinity };
        for (const { externalId } of fresh) pushOf.set(externalId, push);
        await pushPatiently(() => {
          push.began = performance.now();
          return caller.push('suppliers', [...fresh, ...old]);
        });
        push.ended = performance.now();
        for (const { externalId } of fresh) acknowledged.add(externalId);
      }
    }),
  );
  return {
    acknowledged,
    /** By the new records that it brings. */
    pushOf,
    stop() {
      stop.abort();
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await writing;
    },
  };
}

/** Page by page, to the end or until all of these were seen: writers may add records faster than pages show them. */
async function walkPast(there: ReadonlySet<string>, caller: Caller): Promise<string[]> {
  const seen: string[] = [];
  for (let query: string | undefined = 'limit=23'; query !== undefined && !there.isSubsetOf(new Set(seen));) {
    const page: Listed<ListingEntity> = await caller.list('suppliers', query);
    seen.push(...idsOf(page));
    query = page.next;
  }
  return seen;
}

describe('while other callers push', () => {
  it(
    'a walk by cursor returns each record that existed when the walk began, in order and once',
    { timeout: 60_000 },
    async () => {
      const caller = world.caller();
      const known = 150;
      await pushNumbered(caller, 0, known);
      let acknowledged: ReadonlySet<string>;
      {
        await using writing = startWriting(caller, 3, known);
        ({ acknowledged } = writing);
        for (let walk = 0; walk < 3; walk += 1) {
          const there = new Set([...range(known).map((id) => `s${id}`), ...acknowledged]);
          const seen = await walkPast(there, caller);
          expect(new Set(seen).size).toBe(seen.length);
          expect(there.difference(new Set(seen))).toEqual(new Set());
          expect(seen.slice(0, known)).toEqual(range(known).map((id) => `s${id}`));
        }
      }
      const all = (await caller.listAll('suppliers', 'limit=100')).map(({ externalId }) => externalId);
      expect(all.length).toBe(known + acknowledged.size);
      expect(acknowledged.difference(new Set(all))).toEqual(new Set());
    },
  );

  it(
    'a walk by page numbers misses no record that existed when the walk began',
    { timeout: 60_000 },
    async () => {
      const caller = world.caller();
      const known = 200;
      await pushNumbered(caller, 0, known);
      await using writing = startWriting(caller, 3, known);
      const there = new Set([...range(known).map((id) => `s${id}`), ...writing.acknowledged]);
      const seen = new Set<string>();
      for (let page = 1; ; page += 1) {
        const listed = await caller.list('suppliers', `page=${page}&limit=20`);
        if (listed.entities.length === 0) break;
        for (const { externalId } of listed.entities) seen.add(externalId);
        if (page * 20 > there.size + 200) break;
      }
      expect(there.difference(seen)).toEqual(new Set());
    },
  );

  it('polls with X-Next-Since miss no record, and repeat records only while pushes are under way', async () => {
    const caller = world.caller();
    const known = 100;
    await pushNumbered(caller, 0, known);
    const polledForMs = Number(process.env['SYNC_POLL_MS'] ?? 5_000);
    /** When the polls were asked that a record was in. */
    const seen = new Map<string, number[]>();
    let polls = 0;
    const poll = async (from: string | undefined): Promise<string | undefined> => {
      polls += 1;
      const asked = performance.now();
      const first = await caller.list('suppliers', `limit=100&${since(from)}`);
      for (let page = first; ; page = await caller.list('suppliers', page.next)) {
        for (const { externalId } of page.entities) {
          seen.set(externalId, [...(seen.get(externalId) ?? []), asked]);
        }
        if (page.next === undefined) return first.nextSince;
      }
    };
    let from = (await caller.list('suppliers')).nextSince;
    let pushOf: ReadonlyMap<string, Push>;
    {
      await using writing = startWriting(caller, 8, known);
      ({ pushOf } = writing);
      // The writers end by themselves, also beside a poll whose pages they outrun.
      const writingEnds = setTimeout(() => writing.stop(), polledForMs);
      const end = performance.now() + polledForMs;
      while (performance.now() < end) {
        from = await poll(from);
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
      clearTimeout(writingEnds);
    }
    // The pushes have ended: one more poll sees the rest, and the one after it nothing.
    from = await poll(from);
    expect(new Set(pushOf.keys()).difference(new Set(seen.keys()))).toEqual(new Set());
    expect(await caller.list('suppliers', since(from))).toMatchObject({ entities: [], total: 0 });

    const pushes = [...new Set(pushOf.values())];
    const times = [...pushOf].map(([externalId, { ended }]) => {
      const asked = seen.get(externalId) ?? [];
      for (const before of asked.slice(0, -1)) {
        const maySeeAgain = pushes.some((push) => push.began <= ended && push.ended >= before);
        expect(maySeeAgain, `${externalId} was seen again`).toBe(true);
      }
      return asked.length;
    });
    process.stdout.write(
      `${polls} polls beside 8 pushers: ${pushOf.size} new records, ` +
        `${times.filter((count) => count > 1).length} of them seen more than once, ` +
        `${Math.max(...times)} times at most\n`,
    );
  }, 120_000);
});
