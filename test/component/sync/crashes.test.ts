// A process that dies in the middle of a push, at every stage at which that makes a difference, and one that
// was only slow. The surviving replicas settle what it left.
import { setTimeout as wait } from 'node:timers/promises';
import { Failure } from '@integration-sync/contracts';
import { stages, type PushStage } from '@integration-sync/sync';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ending } from '../../support/ending.ts';
import { eventually } from '../../support/eventually.ts';
import { anHourAhead, settledWithinMs } from '../../support/left-behind.ts';
import { startStoppingService } from '../../support/stopping-service.ts';
import { openWorld, type Caller, type World } from '../../support/sync.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
});
afterAll(() => world[Symbol.asyncDispose]());

const name = (index: number): string => `r${String(index).padStart(3, '0')}`;
const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, nth) => from + nth);

const before = range(0, 60).map((index) => ({ externalId: name(index), name: 'N', code: 'old' }));
/** Thirty stay as they are, thirty change, sixty are new, one is wrong. */
const during = [
  ...range(0, 30).map((index) => ({ externalId: name(index), name: 'N', code: 'old' })),
  ...range(30, 60).map((index) => ({ externalId: name(index), name: 'N', code: 'new' })),
  ...range(60, 120).map((index) => ({ externalId: name(index), name: 'N' })),
  { externalId: 'wrong' },
];

interface Outcome {
  answered: boolean;
  runs: number;
  records: readonly number[];
  updates: readonly number[];
  counts?: object;
}

/** Where the caller got no answer, the survivors can no longer count what is unchanged. */
const untold = { created: 60, updated: 30, unchanged: 0, failed: 1 };
const told = { created: 60, updated: 60, unchanged: 30, failed: 1 };

const outcomes: Record<PushStage, Outcome> = {
  'before-entry': { answered: false, runs: 1, records: [60], updates: [0] },
  'after-entry': { answered: false, runs: 1, records: [60], updates: [0] },
  // The new ones are there; whether the process has changed the others yet is a race.
  'amid-writes': { answered: false, runs: 2, records: [120], updates: range(0, 31) },
  'before-drafts': { answered: false, runs: 2, records: [120], updates: [30], counts: untold },
  'after-writes': { answered: false, runs: 2, records: [120], updates: [30], counts: untold },
  'before-answer': { answered: false, runs: 2, records: [120], updates: [30], counts: told },
  'after-events': { answered: true, runs: 2, records: [120], updates: [30], counts: told },
  'after-publish': { answered: true, runs: 2, records: [120], updates: [30], counts: told },
};

interface Crashed {
  caller: Caller;
  stage: PushStage;
  /** Whether the push was answered before the crash. */
  answered: boolean;
}

/** With no other replica, so that the push comes to the one that will die. */
async function crashAt(stage: PushStage): Promise<Crashed> {
  const caller = world.caller();
  const healthy = await world.startCatalog();
  await caller.push('suppliers', before);
  await healthy[Symbol.asyncDispose]();
  await using service = await startStoppingService('catalog', stage, world.environment);
  const answer = caller.push('suppliers', during).then(
    () => true,
    () => false,
  );
  await service.reached();
  // An answer that was on its way gets the time to arrive.
  const answered = await Promise.race([answer, wait(outcomes[stage].answered ? 10_000 : 200, false)]);
  await service.kill();
  return { caller, stage, answered };
}

const countOf = <T>(all: readonly T[], holds: (one: T) => boolean): number => all.filter(holds).length;

async function expectSettled({ caller, stage, answered }: Crashed): Promise<void> {
  const runs = await eventually(
    () => caller.runs(),
    ({ entities }) => entities.every(({ state }) => state === 'completed'),
    settledWithinMs,
  );
  // The history says so before the last event is out.
  const pushes = runs.entities.length;
  const events = await eventually(
    () => caller.events(),
    (all) => countOf(all, ({ body }) => body.event === 'sync.completed') === pushes,
    settledWithinMs,
  );
  const records = await caller.listAll('suppliers');
  const documents = await world.store
    .collection<{ _id: string; integration: string; externalId: string; fields: { code?: string } }>(
      'suppliers',
    )
    .find({ integration: caller.integration })
    .toArray();
  const createdIds = events.flatMap(({ body }) =>
    body.event === 'supplier.created' && 'internalId' in body.data ? [body.data.internalId] : [],
  );
  const updated = events.flatMap(({ body }) =>
    body.event === 'supplier.updated' && 'externalId' in body.data && 'changedFields' in body.data
      ? [body.data]
      : [],
  );

  const batched = await eventually(
    () => caller.batched(),
    (ids) => ids.length >= events.length,
    settledWithinMs,
  );

  // Every acknowledged record is there, and the survivors announced and counted each record that is there
  // once.
  expect(batched.toSorted()).toEqual(events.map(({ id }) => id).toSorted());
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  expect(createdIds.toSorted()).toEqual(documents.map(({ _id }) => _id).toSorted());
  expect(records.length).toBe(documents.length);
  expect(records.length).toBeGreaterThanOrEqual(60);
  expect((await caller.list('suppliers')).total).toBe(documents.length);
  expect(updated.map(({ externalId }) => externalId).toSorted()).toEqual(
    documents
      .filter(({ fields }) => fields.code === 'new')
      .map(({ externalId }) => externalId)
      .toSorted(),
  );
  expect(updated.every(({ changedFields }) => changedFields.join() === 'code')).toBe(true);
  expect(runs.entities.reduce((sum, { created }) => sum + created, 0)).toBe(documents.length);
  const latest = Math.max(...records.map(({ lastSyncedAt }) => Date.parse(lastSyncedAt)));
  expect(Date.parse((await caller.list('suppliers')).nextSince ?? '')).toBeGreaterThanOrEqual(latest);

  // The stage at which it died tells how much of it was done.
  const expected = outcomes[stage];
  expect(answered).toBe(expected.answered);
  expect(runs.entities).toHaveLength(expected.runs);
  expect(expected.records).toContain(documents.length);
  expect(expected.updates).toContain(updated.length);
  const [newest] = runs.entities;
  expect(newest).toMatchObject(expected.counts ?? {});

  // The caller tries again, as it got no answer.
  const again = await caller.push('suppliers', during);
  expect(again).toMatchObject({ created: 120 - documents.length, updated: documents.length });
  expect(again.errors).toHaveLength(1);
  const settled = await eventually(
    () => caller.events(),
    (all) => countOf(all, ({ body }) => body.event === 'sync.completed') === pushes + 1,
  );
  expect(countOf(settled, ({ body }) => body.event === 'supplier.created')).toBe(120);
  expect(countOf(settled, ({ body }) => body.event === 'supplier.updated')).toBe(30);
  expect((await caller.list('suppliers')).total).toBe(120);
}

describe('a process that is killed', () => {
  it(
    'at any stage of a push leaves a push that another replica completes',
    { timeout: 180_000 },
    async () => {
      const crashed: Crashed[] = [];
      for (const stage of stages) crashed.push(await crashAt(stage));
      // Two replicas, which both look for what the dead one left behind.
      await using _first = await world.startCatalog();
      await using _second = await world.startCatalog();
      await using _batches = await world.startBatches();
      await Promise.all(
        crashed.map((one) =>
          expectSettled(one).catch((error: unknown) => {
            throw new Error(`killed ${one.stage}`, { cause: error });
          }),
        ),
      );
    },
  );
});

const batch = (externalId: string) => ({ externalId, productExternalId: 'p', batchNumber: 'B' });

it('a push of a killed process is finished although the clock of its machine was a day ahead', async () => {
  const crashed = await crashAt('after-writes');
  await world.store
    .collection('catalog_journal')
    .updateMany(
      { integration: crashed.caller.integration, due: { $exists: true } },
      { $set: { due: aDayAhead() } },
    );
  await using _batches = await world.startBatches();
  // The next start corrects the time, after which a late write could still arrive: 150 s.
  await (await world.startCatalog())[Symbol.asyncDispose]();
  await using _survivor = await world.startCatalog({ now: anHourAhead });
  await expectSettled(crashed);
});

describe('a record that a dead process changed', () => {
  it('is announced although another push changed it again before recovery', { timeout: 60_000 }, async () => {
    const caller = world.caller();
    const healthy = await world.startCatalog();
    await caller.push('suppliers', [
      { externalId: 'a', name: 'N', code: '1', phone: '1' },
      { externalId: 'b', name: 'N', code: '1' },
    ]);
    await healthy[Symbol.asyncDispose]();
    await using service = await startStoppingService('catalog', 'after-writes', world.environment);
    const lost = caller.push('suppliers', [
      { externalId: 'a', name: 'N', code: '2' },
      { externalId: 'b', name: 'N', code: '2' },
      { externalId: 'c', name: 'N' },
    ]);
    lost.catch(() => undefined);
    await service.reached();
    await service.kill();
    await using _survivor = await world.startCatalog();
    await using _batches = await world.startBatches();
    // The second half of a record's changes comes twice over, by two pushes of a living process.
    await caller.push('suppliers', [{ externalId: 'a', name: 'N', phone: '2' }]);
    await caller.push('suppliers', [{ externalId: 'a', name: 'M' }]);
    await caller.push('suppliers', [{ externalId: 'c', name: 'N', code: '3' }]);
    const { entities } = await eventually(
      () => caller.runs(),
      (runs) => runs.entities.every(({ state }) => state === 'completed'),
      settledWithinMs,
    );
    expect(entities).toHaveLength(5);
    const events = await eventually(
      () => caller.events(),
      (all) => countOf(all, ({ body }) => body.event === 'sync.completed') === 5,
    );
    const changes = events.flatMap(({ body }) =>
      body.event === 'supplier.updated' && 'externalId' in body.data && 'changedFields' in body.data
        ? [`${body.data.externalId} ${body.data.changedFields.join()}`]
        : [],
    );
    expect(changes.toSorted()).toEqual(['a code', 'a name', 'a phone', 'b code', 'c code']);
    expect(countOf(events, ({ body }) => body.event === 'supplier.created')).toBe(3);
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  });

  it('is announced if the dead process was of a later release, and changed a field that this release lacks', async () => {
    const caller = world.caller();
    const healthy = await world.startCatalog();
    await caller.push('suppliers', [{ externalId: 'a', name: 'N', code: '1' }]);
    await healthy[Symbol.asyncDispose]();
    await using service = await startStoppingService('catalog', 'after-writes', world.environment);
    caller.push('suppliers', [{ externalId: 'a', name: 'N', code: '2' }]).catch(() => undefined);
    await service.reached();
    await service.kill();
    const mine = { integration: caller.integration, externalId: 'a' };
    const changed = ['code', 'later'];
    await world.store.collection('suppliers').updateOne(mine, { $set: { changed, 'fields.later': '2' } });
    await using _survivor = await world.startCatalog({ now: anHourAhead });
    const events = await eventually(
      () => caller.events(),
      (all) => countOf(all, ({ body }) => body.event === 'sync.completed') === 2,
      settledWithinMs,
    );
    expect(events.at(-2)?.body).toMatchObject({
      event: 'supplier.updated',
      data: { changedFields: changed },
    });
  });

  it(
    'is announced with its drafted statement, which another replica drafts if the dead process has not',
    { timeout: 90_000 },
    async () => {
      const caller = world.caller();
      await using _catalog = await world.startCatalog();
      await caller.push('products', [{ externalId: 'p', name: 'P', hsCode: '4407' }]);
      const batches = ['a', 'b'].map((externalId) => ({
        externalId,
        productExternalId: 'p',
        batchNumber: 'B',
      }));
      const crash = async (stage: PushStage, more: object): Promise<void> => {
        await using service = await startStoppingService('batches', stage, world.environment);
        const lost = caller.push('batches', [...batches, more], { autoCreateDDS: true });
        lost.catch(() => undefined);
        await service.reached();
        await service.kill();
      };
      await crash('amid-writes', batch('c'));
      await crash('after-writes', batch('d'));
      await using _survivor = await world.startBatches({ now: anHourAhead });
      await eventually(
        () => caller.runs(),
        ({ entities }) => entities.every(({ state }) => state === 'completed'),
        settledWithinMs,
      );
      const again = await caller.push('batches', [...batches, batch('c'), batch('d')], {
        autoCreateDDS: true,
      });
      expect(again).toMatchObject({ created: 0, updated: 4 });
      // What the first had written and not drafted is drafted now.
      expect(again.ddsCreated?.map(({ batchExternalId }) => batchExternalId)).toEqual(['c']);
      expect(await caller.dds()).toMatchObject({ total: 4 });
      const events = await eventually(
        () => caller.events(),
        (all) => countOf(all, ({ body }) => body.event === 'sync.completed') === 4,
      );
      const drafted = events.flatMap(({ body }) =>
        body.event === 'dds.created' && 'ddsId' in body.data ? [body.data] : [],
      );
      expect(drafted.map(({ batchExternalId }) => batchExternalId).toSorted()).toEqual(['a', 'b', 'c', 'd']);
      expect(drafted.toSorted((one, other) => (one.ddsId < other.ddsId ? -1 : 1))).toEqual(
        (await caller.dds()).entities.toSorted((one, other) => (one.ddsId < other.ddsId ? -1 : 1)),
      );
      expect(countOf(events, ({ body }) => body.event === 'batch.created')).toBe(4);
    },
  );
});

describe('a process that was only slow, and comes back', () => {
  it.each([
    ['after-entry', 'unavailable'],
    ['amid-writes', 'unavailable'],
    ['after-writes', 'unavailable'],
    ['before-answer', undefined],
  ] as const)(
    'after another replica completed its push %s: its changes are announced and counted once',
    { timeout: 60_000 },
    async (stage, code) => {
      const caller = world.caller();
      const [arrived, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const healthy = await world.startCatalog();
      const known = range(0, 10).map((index) => ({ externalId: name(index), name: 'N' }));
      await caller.push('suppliers', known);
      await healthy[Symbol.asyncDispose]();
      await using _slow = await world.startCatalog({
        async onStage(at) {
          if (at !== stage) return;
          arrived.resolve();
          await released.promise;
        },
      });
      using _end = ending(released);
      const items = range(0, 30).map((index) => ({ externalId: name(index), name: 'N', code: 'new' }));
      const late = caller.push('suppliers', items).then(
        () => undefined,
        (error: unknown) => error,
      );
      await arrived.promise;
      await using _impatient = await world.startCatalog({ now: anHourAhead });
      await using _batches = await world.startBatches();
      const journal = world.store.collection<{ _id: string; integration: string; state: string }>(
        'catalog_journal',
      );
      await eventually(
        () => journal.find({ integration: caller.integration }).toArray(),
        (entries) => entries.every(({ state }) => state === 'announced'),
        settledWithinMs,
      );
      const { nextSince = '' } = await caller.list('suppliers');
      released.resolve();
      const answer = await late;
      expect(answer instanceof Failure ? answer.code : answer).toBe(code);

      const events = await eventually(
        () => caller.events(),
        (all) => countOf(all, ({ body }) => body.event.startsWith('supplier.')) === 40,
        settledWithinMs,
      );
      const kindsOf = (event: string): number => countOf(events, ({ body }) => body.event === event);
      expect([kindsOf('supplier.created'), kindsOf('supplier.updated'), kindsOf('sync.completed')]).toEqual([
        30, 10, 2,
      ]);
      expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
      const runs = await eventually(
        () => caller.runs(),
        ({ entities }) => entities.every(({ state }) => state === 'completed'),
      );
      expect(runs.entities).toMatchObject([{ created: 20, updated: 10 }, { created: 10 }]);
      const records = await caller.listAll('suppliers');
      expect(records).toHaveLength(30);
      await eventually(
        () => caller.list('suppliers'),
        (page) => page.total === 30 && Date.parse(page.nextSince ?? '') >= Date.parse(nextSince),
      );
      // A caller that had read up to there, while the process was taken for dead, finds what it wrote later.
      const written = records.filter(({ lastSyncedAt }) => Date.parse(lastSyncedAt) > Date.parse(nextSince));
      expect(written.length).toBe(code === undefined ? 0 : 30);
      expect(await pushUntilTaken(caller, items)).toMatchObject({ created: 0, updated: 30 });
    },
  );
});

const aDayAhead = (): Date => new Date(anHourAhead() + 23 * 60 * 60 * 1_000);

/** A replica whose clock is an hour ahead takes over every push of another, which asks for it again. */
async function pushUntilTaken(caller: Caller, items: readonly object[]): Promise<unknown> {
  try {
    return await caller.push('suppliers', items);
  } catch (error) {
    if (error instanceof Failure && error.code === 'unavailable') return pushUntilTaken(caller, items);
    throw error;
  }
}

describe('a push that died before it had an entry in the journal', () => {
  it('does not hold back X-Next-Since of a listing for ever', async () => {
    const caller = world.caller();
    await using _catalog = await world.startCatalog();
    await caller.push('suppliers', [{ externalId: 'a', name: 'N' }]);
    const { nextSince = '' } = await caller.list('suppliers');
    const watermarks = world.store.collection<{ _id: string; open: Record<string, number> }>('catalog_heads');
    const _id = `${caller.integration}/suppliers`;
    const long = Date.now() - 60_000;
    await watermarks.updateOne({ _id }, { $set: { 'open.sync_dead': long, 'open.sync_young': Date.now() } });
    await watermarks.updateOne({ _id }, { $set: { 'open.sync_ahead': aDayAhead().getTime() } });
    const held = await caller.list('suppliers');
    expect(held.nextSince).toBe(new Date(long - 1).toISOString());
    const watermark = await eventually(
      () => watermarks.findOne({ _id }),
      (found) => ['sync_dead', 'sync_ahead'].every((id) => !Object.hasOwn(found?.open ?? {}, id)),
    );
    // A push that is not old may still come to its entry.
    expect(Object.keys(watermark?.open ?? {})).toEqual(['sync_young']);
    await watermarks.updateOne({ _id }, { $unset: { 'open.sync_young': '' } });
    expect((await caller.list('suppliers')).nextSince).toBe(nextSince);
  });
});
