// Listings of what has changed, and mirrors that are kept by them: nothing is missed while pushes are under way, wherever a
// reader stops, and what pushes found as it should be is not read again.
import type { ListingEntity, RecordDetails } from '@integration-sync/contracts';
import type { Stage } from '@integration-sync/sync';
import * as fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { listedNow, Mirror } from '../../support/mirror.ts';
import { openWorld, pushPatiently, type Caller, type World } from '../../support/sync.ts';

let world: World;
/** By stage, those who hold up the next push that reaches it, in turn. */
const holds = new Map<Stage, { reached: () => void; released: Promise<void> }[]>();

async function holdUp(stage: Stage): Promise<void> {
  const hold = holds.get(stage)?.shift();
  hold?.reached();
  await hold?.released;
}

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
  await Promise.all([
    world.startCatalog({ onStage: holdUp }),
    world.startCatalog({ onStage: holdUp }),
    world.startBatches(),
  ]);
});
afterAll(() => world[Symbol.asyncDispose]());

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const supplier = (externalId: string, name = 'N') => ({ externalId, name });
const product = (externalId: string) => ({ externalId, supplierExternalId: 's', code: 'C', name: 'N' });
const many = (count: number) => range(count).map((nth) => supplier(`s${nth}`));
const idsOf = ({ entities }: { entities: readonly { externalId: string }[] }): string[] =>
  entities.map(({ externalId }) => externalId);
const changedSince = (time: string | undefined, more = ''): string =>
  `changedSince=${encodeURIComponent(time ?? '')}${more}`;
const refused = { code: 'invalid_request' };

type Whole = ListingEntity & { details: RecordDetails };

async function changedAtOf(caller: Caller, externalId: string): Promise<string | undefined> {
  const { entities } = await caller.list('suppliers', `details=true&externalId=${externalId}`);
  return (entities as Whole[])[0]?.details.changedAt;
}

/** The key of the index of changes. */
async function changesIndexed(plural: string): Promise<unknown> {
  const indexes = await world.store.collection(plural).listIndexes().toArray();
  return indexes.find(({ name }) => name === 'last-changed')?.['key'];
}

describe('the index of changes', () => {
  const asked = { integration: 1, changedAt: 1 };
  beforeEach(async () => {
    for (const plural of ['products', 'batches'])
      if ((await changesIndexed(plural)) !== undefined)
        await world.store.collection(plural).dropIndex('last-changed');
  });

  it('is created for the first listing with changedSince', async () => {
    const caller = world.caller();
    await caller.push('suppliers', [supplier('s')]);
    await caller.push('products', [product('p')]);
    await caller.list('products', 'since=1970-01-01');
    expect(await changesIndexed('products')).toBeUndefined();
    expect(idsOf(await caller.list('products', changedSince('1970-01-01')))).toEqual(['p']);
    await eventually(
      () => changesIndexed('products'),
      (key) => key !== undefined,
    );
    expect(await changesIndexed('products')).toEqual(asked);
    expect(await changesIndexed('batches')).toBeUndefined();
  });

  it('is not needed by a listing while MongoDB cannot create the index', async () => {
    const caller = world.caller();
    await caller.push('suppliers', [supplier('s')]);
    await caller.push('products', [product('p')]);
    await caller.push('batches', [{ externalId: 'b', productExternalId: 'p', batchNumber: 'B' }]);
    const batches = world.store.collection('batches');
    await batches.createIndex({ changedAt: 1 }, { name: 'last-changed' });
    expect(idsOf(await caller.list('batches', changedSince('1970-01-01')))).toEqual(['b']);
    await batches.dropIndex('last-changed');
    await caller.list('batches', changedSince('1970-01-01'));
    await eventually(
      () => changesIndexed('batches'),
      (key) => key !== undefined,
    );
    expect(await changesIndexed('batches')).toEqual(asked);
    // An operator drops the index where nobody asks for changes any more.
    await batches.dropIndex('last-changed');
    expect(idsOf(await caller.list('batches', changedSince('1970-01-01')))).toEqual(['b']);
    await eventually(
      () => changesIndexed('batches'),
      (key) => key !== undefined,
    );
  });
});

describe('a listing of changes', () => {
  it('shows created, changed, archived, erased and restored records, and no unchanged records', async () => {
    const caller = world.caller();
    await caller.push(
      'suppliers',
      ['changed', 'same', 'archived', 'erased', 'restored', 'again'].map((id) => supplier(id)),
    );
    await caller.archive('suppliers', ['restored', 'again']);
    const { nextSince } = await caller.list('suppliers');
    expect(await caller.list('suppliers', changedSince(nextSince))).toMatchObject({ entities: [], total: 0 });
    await caller.push('suppliers', [supplier('changed', 'M'), supplier('same'), supplier('new')]);
    await caller.archive('suppliers', ['archived', 'again']);
    await caller.erase(['erased']);
    await caller.push('suppliers', [supplier('restored')]);
    const listed = await caller.list('suppliers', changedSince(nextSince));
    expect(listed).toMatchObject({ total: 5, page: 1, limit: 50 });
    expect(idsOf(listed)).toEqual(['changed', 'archived', '', 'restored', 'new']);
    expect(
      idsOf(await caller.list('suppliers', `since=${encodeURIComponent(nextSince ?? '')}`)),
    ).toHaveLength(7);
    expect(listed.nextSince).toBe((await caller.list('suppliers')).nextSince);
  });

  it('does not show a record after a push without a change', async () => {
    const caller = world.caller();
    await caller.push('suppliers', [supplier('a')]);
    const [created] = (await caller.list('suppliers', 'details=true')).entities as Whole[];
    expect(created?.details.changedAt).toBe(created?.lastSyncedAt);
    await caller.push('suppliers', [supplier('a')]);
    const [touched] = (await caller.list('suppliers', 'details=true')).entities as Whole[];
    expect(touched?.details.changedAt).toBe(created?.details.changedAt);
    expect(String(touched?.lastSyncedAt) > String(created?.lastSyncedAt)).toBe(true);
    // Two items of one push that change the record there and back.
    await caller.push('suppliers', [supplier('a', 'M'), supplier('a')]);
    expect(await changedAtOf(caller, 'a')).toBe(created?.details.changedAt);
    await caller.push('suppliers', [supplier('a', 'M')]);
    const [changed] = (await caller.list('suppliers', 'details=true')).entities as Whole[];
    expect(changed?.details.changedAt).toBe(changed?.lastSyncedAt);
    // Exclusive on the one side, inclusive on the other.
    const at = changed?.details.changedAt;
    expect(idsOf(await caller.list('suppliers', changedSince(at)))).toEqual([]);
    const before = new Date(Date.parse(at ?? '') - 1).toISOString();
    expect(idsOf(await caller.list('suppliers', changedSince(before, `&until=${at}`)))).toEqual(['a']);
  });

  it('with the parameter until ends with the changes up to that time, and the next poll continues there', async () => {
    const caller = world.caller();
    const { nextSince: begin } = await caller.list('suppliers');
    await caller.push('suppliers', [supplier('a'), supplier('b')]);
    const { nextSince: mark } = await caller.list('suppliers');
    await caller.push('suppliers', [supplier('a'), supplier('b', 'M'), supplier('c')]);
    const query = changedSince(begin, `&until=${mark}`);
    const listed = await caller.list('suppliers', query);
    // The second push found a as it should be, so that its last change is of the first.
    expect([idsOf(listed), listed.nextSince]).toEqual([['a'], mark]);
    expect(idsOf(await caller.list('suppliers', changedSince(listed.nextSince)))).toEqual(['b', 'c']);
  });

  it('keeps its parameters from page to page, and accepts externalId', async () => {
    const caller = world.caller();
    await caller.push('suppliers', many(5));
    const { nextSince } = await caller.list('suppliers');
    await caller.push(
      'suppliers',
      range(5).map((nth) => supplier(`s${nth}`, nth === 2 ? 'N' : 'M')),
    );
    const first = await caller.list('suppliers', changedSince(nextSince, '&limit=2'));
    expect([idsOf(first), first.total]).toEqual([['s0', 's1'], 4]);
    // Created while the walk goes on: it is for the next poll.
    await caller.push('suppliers', [supplier('late')]);
    const second = await caller.list('suppliers', first.next);
    expect([idsOf(second), second.next, second.nextSince]).toEqual([
      ['s3', 's4'],
      undefined,
      first.nextSince,
    ]);
    expect(idsOf(await caller.list('suppliers', `${first.next}&${changedSince(nextSince)}`))).toEqual([
      's3',
      's4',
    ]);
    for (const more of [changedSince('2026-01-01'), 'since=2026-01-01', 'until=2026-01-01']) {
      await expect(caller.list('suppliers', `${first.next}&${more}`)).rejects.toMatchObject(refused);
    }
    const some = ['s1', 's2', 'none'].map((id) => `&externalId=${id}`).join('');
    expect(idsOf(await caller.list('suppliers', changedSince(nextSince, some)))).toEqual(['s1']);
  });

  it.each([
    ['changedSince=2024-02-30', 'changedSince'],
    ['changedSince=yesterday', 'changedSince'],
    ['changedSince=', 'changedSince'],
    ['changedSince=2026-03-31&changedSince=2026-03-31', 'changedSince'],
    ['changedSince=2026-03-31&since=2026-03-31', 'changedSince'],
    ['changedSince=2026-03-31&until=2026-03-30', 'until'],
  ])('refuses %s', async (query, pointer) => {
    for (const plural of ['suppliers', 'products', 'batches'] as const) {
      await expect(world.caller().list(plural, query)).rejects.toMatchObject({
        ...refused,
        errors: [{ pointer }],
      });
    }
  });

  it('uses its index for many changes, and for few changes among many records', async () => {
    const caller = world.caller();
    const { nextSince: begin } = await caller.list('suppliers');
    for (const from of range(5)) {
      await caller.push(
        'suppliers',
        range(500).map((nth) => supplier(`s${from * 500 + nth}`)),
      );
    }
    const mirror = new Mirror(caller, begin);
    await mirror.catchUp();
    expect([mirror.read, mirror.records]).toEqual([2_500, await listedNow(caller)]);
    // A load in which 2 % have changed.
    for (const from of range(5)) {
      await caller.push(
        'suppliers',
        range(500).map((nth) => supplier(`s${from * 500 + nth}`, nth % 50 === 7 ? 'M' : 'N')),
      );
    }
    mirror.read = 0;
    await mirror.catchUp();
    expect([mirror.read, mirror.records]).toEqual([50, await listedNow(caller)]);
  });
});

/** As an earlier release left them. */
const forget = async (caller: Caller): Promise<void> => {
  await world.store
    .collection('suppliers')
    .updateMany({ integration: caller.integration }, { $unset: { changedAt: '' } });
};
const undated = (caller: Caller): Promise<number> =>
  world.store
    .collection('suppliers')
    .countDocuments({ integration: caller.integration, changedAt: { $exists: false } });

describe('records of an earlier release', () => {
  it('count as changed at their last push, and a poll from the beginning misses none of them', async () => {
    const [caller, bystander] = [world.caller(), world.caller()];
    for (const from of range(3)) {
      await caller.push(
        'suppliers',
        range(500).map((nth) => supplier(`s${from * 500 + nth}`)),
      );
    }
    await bystander.push('suppliers', [supplier('other')]);
    await forget(caller);
    await forget(bystander);
    const { nextSince } = await caller.list('suppliers');
    await caller.push('suppliers', [supplier('s3'), supplier('s4', 'M')]);
    // What the earlier release wrote says no more of s3 than that a push spoke of it.
    const synced = (await caller.list('suppliers', 'externalId=s3')).entities[0]?.lastSyncedAt;
    expect(await changedAtOf(caller, 's3')).toBe(synced);
    expect(idsOf(await caller.list('suppliers', changedSince(nextSince)))).toEqual(['s3', 's4']);
    const mirror = new Mirror(caller, '1970-01-01');
    // While they are dated, and pushed beside.
    await mirror.readPages(100, 3);
    await caller.push('suppliers', [supplier('s5', 'M'), supplier('s1400', 'M')]);
    await mirror.readPages(100, 4);
    await mirror.catchUp();
    expect(mirror.records).toEqual(await listedNow(caller));
    await eventually(
      () => undated(caller),
      (count) => count === 0,
    );
    expect(await undated(bystander)).toBe(1);
    const later = new Mirror(caller, '1970-01-01');
    await later.catchUp();
    expect(later.records).toEqual(mirror.records);
    expect(await changedAtOf(caller, 's3')).toBe(synced);
    mirror.read = 0;
    await caller.push(
      'suppliers',
      range(500).map((nth) => supplier(`s${nth}`, nth === 5 ? 'M' : 'N')),
    );
    await mirror.catchUp();
    expect(mirror.read).toBe(1);
  });

  it('are listed only up to the time in the parameter until', async () => {
    const caller = world.caller();
    await caller.push('suppliers', [supplier('a')]);
    const { nextSince: mark } = await caller.list('suppliers');
    await caller.push('suppliers', [supplier('b')]);
    await forget(caller);
    const query = changedSince('1970-01-01', `&until=${mark}`);
    expect(idsOf(await caller.list('suppliers', query))).toEqual(['a']);
    await eventually(
      () => undated(caller),
      (count) => count === 0,
    );
    expect(idsOf(await caller.list('suppliers', query))).toEqual(['a']);
  });
});

const ids = ['a', 'b', 'c', 'd', 'e'];
const someIds = fc.uniqueArray(fc.constantFrom(...ids), { minLength: 1, maxLength: 4 });
const heldAt = fc.option(
  fc.constantFrom<Stage>('before-entry', 'after-entry', 'amid-writes', 'after-writes', 'before-answer'),
  { nil: undefined, freq: 2 },
);
const steps = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        does: fc.constant('push' as const),
        ids: someIds,
        name: fc.constantFrom('N', 'M'),
        heldAt,
      }),
    },
    { weight: 1, arbitrary: fc.record({ does: fc.constant('archive' as const), ids: someIds, heldAt }) },
    { weight: 1, arbitrary: fc.record({ does: fc.constant('erase' as const), ids: someIds, heldAt }) },
    { weight: 2, arbitrary: fc.record({ does: fc.constant('release' as const) }) },
    {
      weight: 6,
      arbitrary: fc.record({
        does: fc.constant('read' as const),
        reader: fc.nat({ max: 2 }),
        limit: fc.constantFrom(1, 2, 3, 100),
        pages: fc.integer({ min: 1, max: 4 }),
        stops: fc.boolean(),
      }),
    },
  ),
  { minLength: 4, maxLength: 16 },
);
type Step = typeof steps extends fc.Arbitrary<(infer One)[]> ? One : never;

/** No more of them than half the pushes that a replica carries out at once. */
const heldMax = 2;

interface Seen {
  mirrored: ReadonlyMap<string, unknown>;
  listed: ReadonlyMap<string, unknown>;
}

/**
 * Carries the history out, and ends with every push answered. Returns what mirrors held while nothing was under way, beside
 * the listings of these moments.
 */
async function live(caller: Caller, history: readonly Step[], readers: readonly Mirror[]): Promise<Seen[]> {
  const seen: Seen[] = [];
  const held: { ids: readonly string[]; release: () => void; answered: Promise<unknown> }[] = [];
  const releaseAll = async (): Promise<void> => {
    for (const { release } of held) release();
    await Promise.all(held.splice(0).map(({ answered }) => answered));
  };
  try {
    for (const step of history) {
      if (step.does === 'release') await releaseAll();
      else if (step.does === 'read') {
        const reader = readers[step.reader];
        const isAtEnd = await reader?.readPages(step.limit, step.pages);
        if (step.stops) reader?.stop();
        // Nothing is under way, so that a walk that began now would show all.
        if (isAtEnd === true && reader !== undefined && held.length === 0) {
          await reader.catchUp(step.limit);
          seen.push({ mirrored: new Map(reader.records), listed: await listedNow(caller) });
        }
      } else {
        const answering = (): Promise<unknown> => change(caller, step);
        const waits = held.some((one) => one.ids.some((id) => step.ids.includes(id)));
        // Pushes of the same records go in the order in which they came: this one is answered after the held one.
        if (waits) held.push({ ids: step.ids, release: () => undefined, answered: answering() });
        else if (step.heldAt === undefined || held.length >= heldMax) await answering();
        else held.push({ ids: step.ids, ...(await beginHeld(step.heldAt, answering)) });
      }
    }
  } finally {
    await releaseAll();
  }
  return seen;
}

function change(caller: Caller, step: Exclude<Step, { does: 'read' | 'release' }>): Promise<unknown> {
  if (step.does === 'push') {
    const items = step.ids.map((id) => supplier(id, step.name));
    return pushPatiently(() => caller.push('suppliers', items));
  }
  return pushPatiently<unknown>(() =>
    step.does === 'archive' ? caller.archive('suppliers', step.ids) : caller.erase(step.ids),
  );
}

/** Resolves once the push is held up, or answered without having come there. */
async function beginHeld(stage: Stage, answering: () => Promise<unknown>) {
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const hold = { reached: reached.resolve, released: released.promise };
  const queue = holds.get(stage) ?? [];
  holds.set(stage, [...queue, hold]);
  const answered = answering();
  await Promise.race([reached.promise, answered]);
  holds.set(
    stage,
    (holds.get(stage) ?? []).filter((one) => one !== hold),
  );
  return { release: released.resolve, answered };
}

const runs = Number(process.env['SYNC_MIRROR_RUNS'] ?? 25);

it(
  'a mirror that polls a listing of changes is complete beside concurrent pushes, wherever it pauses',
  { timeout: 120_000 + runs * 4_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        const caller = world.caller();
        const { nextSince } = await caller.list('suppliers');
        // One reads all at first, one begins before there is anything, one at the beginning of time.
        const readers = [new Mirror(caller), new Mirror(caller, nextSince), new Mirror(caller, '1970-01-01')];
        for (const { mirrored, listed } of await live(caller, history, readers))
          expect(mirrored).toEqual(listed);
        const listed = await listedNow(caller);
        for (const reader of readers) {
          await reader.catchUp(2);
          expect(reader.records).toEqual(listed);
        }
      }),
      { numRuns: runs },
    );
  },
);
