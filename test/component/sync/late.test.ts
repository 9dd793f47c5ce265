// What reaches the database after survivors took its push for dead and settled it: they find it, announce it
// and count it later.
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { watermarkKey, openWatermarks, completeUntil } from '../../../shared/sync/src/watermarks.ts';
import { watchMs } from '../../../shared/sync/src/journal/journal-times.ts';
import { eventually } from '../../support/eventually.ts';
import { openMongodbProxy, type MongodbProxy } from '../../support/mongodb-proxy.ts';
import { startStoppingService } from '../../support/stopping-service.ts';
import { openWorld, type Caller, type World } from '../../support/sync.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
});
afterAll(() => world[Symbol.asyncDispose]());

interface StoredEntry {
  _id: string;
  integration?: string;
  hiddenFrom?: string;
  state: string;
  watched?: true;
}

/** A replica that looks for due entries does so within this time. */
const settledLateMs = 20_000;

const entries = () => world.store.collection<StoredEntry>('catalog_journal');
const documents = () =>
  world.store.collection<{ integration: string; fields: { code?: string } }>('suppliers');

/** A clock an hour ahead, by which every push under way is left behind, and which a test can put forward. */
function openClock() {
  let aheadMs = 60 * 60 * 1_000;
  return {
    now: () => Date.now() + aheadMs,
    passWatch() {
      aheadMs += watchMs;
    },
  };
}

const threeRecords = ['x', 'y', 'z'].map((externalId) => ({ externalId, name: 'N' }));

/** The push may fail, and the test need not look at that. */
function pushLost(caller: Caller, items: readonly object[]): Promise<unknown> {
  const lost = caller.push('suppliers', items);
  lost.catch(() => undefined);
  return lost;
}

/** Kills a process while the records of its push are on the way. The proxy holds them back until `release`. */
async function killWhileWriting(caller: Caller): Promise<MongodbProxy> {
  const proxy = await openMongodbProxy(inject('engines').mongodb);
  await using service = await startStoppingService('catalog', 'after-writes', {
    ...world.environment,
    MONGODB_URL: proxy.url,
  });
  const writing = proxy.holdNext('insert', 'suppliers');
  void pushLost(caller, threeRecords);
  await writing;
  await service.kill();
  return proxy;
}

/** Resolves with the entry of a push of which a recovery has found no write. */
const settledAsEmpty = (caller: Caller): Promise<StoredEntry | null> =>
  eventually(
    () => entries().findOne({ hiddenFrom: caller.integration }),
    (entry) => entry !== null,
  );

/**
 * The announced records, once so many pushes are announced: of which push of `names`, the event, the record,
 * the fields.
 */
async function told(caller: Caller, pushes: number, names: Record<string, string> = {}): Promise<string[]> {
  const events = await eventually(
    () => caller.events(),
    (all) => all.filter(({ body }) => body.event === 'sync.completed').length === pushes,
    settledLateMs,
  );
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  return events.flatMap(({ id, body: { event, data } }) => {
    const push = id.replace(/-.*/, '');
    const fields = 'changedFields' in data ? ` ${data.changedFields.join()}` : '';
    return 'externalId' in data ? [`${names[push] ?? 'lost'} ${event} ${data.externalId}${fields}`] : [];
  });
}

describe('a write that reaches MongoDB long after the death of its sender', () => {
  // Timeline: the records of a push are on the way when its process dies. A survivor finds nothing of it.
  // Then they arrive.
  // What this proves: the push, of which there was nothing to see, is listed, announced and counted.
  it('is announced although recovery had found no write of the push', { timeout: 60_000 }, async () => {
    const caller = world.caller();
    const clock = openClock();
    const healthy = await world.startCatalog();
    const { syncId } = await caller.push('suppliers', [{ externalId: 'bystander', name: 'N' }]);
    await healthy[Symbol.asyncDispose]();
    await using proxy = await killWhileWriting(caller);

    await using _survivor = await world.startCatalog({ now: clock.now });
    await using _batches = await world.startBatches();
    const hidden = await settledAsEmpty(caller);
    expect(await caller.runs()).toMatchObject({ total: 1, entities: [{ syncId }] });
    const { total, nextSince = '' } = await caller.list('suppliers');
    expect(total).toBe(1);
    proxy.release();
    await eventually(
      () => documents().countDocuments({ integration: caller.integration }),
      (count) => count === 4,
    );
    clock.passWatch();

    expect(await told(caller, 2, { [syncId]: 'bystander' })).toEqual([
      'bystander supplier.created bystander',
      'lost supplier.created x',
      'lost supplier.created y',
      'lost supplier.created z',
    ]);
    expect(await caller.runs()).toMatchObject({
      total: 2,
      entities: [{ syncId: hidden?._id, state: 'completed', created: 3 }, { syncId }],
    });
    expect((await caller.list('suppliers')).total).toBe(4);
    // A caller that had read up to there, while nothing of it was there, finds it now.
    for (const from of ['since', 'changedSince']) {
      const { entities } = await caller.list('suppliers', `${from}=${nextSince}`);
      expect(entities.map(({ externalId }) => externalId)).toEqual(['x', 'y', 'z']);
    }
    expect(Date.parse((await caller.list('suppliers')).nextSince ?? '')).toBeGreaterThan(
      Date.parse(nextSince),
    );
  });

  // Timeline: the records of the first push of an integration are on the way when its process dies. A survivor finds nothing of it.
  // Then they arrive, and the caller pushes them again.
  // What this proves: a listing has these records before a survivor has counted them.
  it('is listed after a later push of its records', { timeout: 60_000 }, async () => {
    const caller = world.caller();
    await using proxy = await killWhileWriting(caller);

    await using _survivor = await world.startCatalog({ now: openClock().now });
    await settledAsEmpty(caller);
    expect(await caller.list('suppliers')).toMatchObject({ entities: [], total: 0 });
    proxy.release();
    await eventually(
      () => documents().countDocuments({ integration: caller.integration }),
      (count) => count === 3,
    );
    expect(await caller.push('suppliers', threeRecords)).toMatchObject({ created: 0, updated: 3 });
    const { entities, total } = await caller.list('suppliers');
    expect([entities.map(({ externalId }) => externalId), total]).toEqual([['x', 'y', 'z'], 3]);
  });

  // Timeline: half of a push is there when a survivor takes it over and announces it. Then the other half
  // comes, and the process fails before it finds out that another took it over. Another push overwrites one
  // of the late records.
  // What this proves: a survivor announces and counts what came late beside the first half, the overwritten
  // record too.
  it(
    'is counted in its push although recovery had published the events of the records written before',
    { timeout: 60_000 },
    async () => {
      const caller = world.caller();
      const clock = openClock();
      await using proxy = await openMongodbProxy(inject('engines').mongodb);
      let failing = false;
      await using _slow = await world.startCatalog(
        {
          async onStage(stage) {
            if (stage !== 'after-writes' || !failing) return;
            failing = false;
            throw new Error('it fails here');
          },
        },
        { MONGODB_URL: proxy.url },
      );
      const first = await caller.push('suppliers', [
        { externalId: 'a', name: 'N', code: 'old' },
        { externalId: 'b', name: 'N', code: 'old' },
        { externalId: 'bystander', name: 'N' },
      ]);
      failing = true;
      const changing = proxy.holdNext('update', 'suppliers');
      const lost = pushLost(caller, [
        { externalId: 'a', name: 'N', code: 'new' },
        { externalId: 'b', name: 'N', code: 'new' },
        { externalId: 'c', name: 'N' },
      ]);
      await changing;
      await using _survivor = await world.startCatalog({ now: clock.now });
      await using _batches = await world.startBatches();
      const half = [
        'first supplier.created a',
        'first supplier.created b',
        'first supplier.created bystander',
        'lost supplier.created c',
      ];
      expect(await told(caller, 2, { [first.syncId]: 'first' })).toEqual(half);
      const shown = await caller.runs();
      expect(shown.entities[0]).toMatchObject({ state: 'completed', created: 1, updated: 0 });
      const { nextSince } = await caller.list('suppliers');
      await eventually(
        () => entries().findOne({ integration: caller.integration, watched: true }),
        (entry) => entry?.state === 'announced',
      );

      proxy.release();
      await expect(lost).rejects.toMatchObject({ code: 'internal' });
      const later = await caller.push('suppliers', [{ externalId: 'a', name: 'M' }]);
      clock.passWatch();
      const names = { [first.syncId]: 'first', [later.syncId]: 'later' };
      const all = await eventually(
        () => told(caller, 3, names),
        (events) => events.length === 7,
        settledLateMs,
      );
      expect(all.toSorted()).toEqual(
        [
          ...half,
          'later supplier.updated a name',
          'lost supplier.updated a code',
          'lost supplier.updated b code',
        ].toSorted(),
      );
      const runs = await eventually(
        () => caller.runs(),
        ({ entities }) => entities.every(({ state }) => state === 'completed'),
      );
      expect(runs.entities).toMatchObject([
        { syncId: later.syncId, updated: 1 },
        { created: 1, updated: 2 },
        { syncId: first.syncId, created: 3 },
      ]);
      expect((await caller.list('suppliers')).total).toBe(4);
      for (const from of ['since', 'changedSince']) {
        const { entities } = await caller.list('suppliers', `${from}=${nextSince}`);
        expect(entities.map(({ externalId }) => externalId)).toEqual(expect.arrayContaining(['a', 'b']));
        expect(entities.map(({ externalId }) => externalId)).not.toContain('bystander');
      }
    },
  );
});

// Timeline: a survivor has taken a push over, found nothing, and closed it in the watermark as empty. Before
// its entry says so, its records come, and another survivor takes it over.
// What this proves: the second survivor counts the records, and a caller that had read up to there sees them.
it('a late write is announced although an interrupted recovery had closed the push as empty', async () => {
  const caller = world.caller();
  const healthy = await world.startCatalog();
  const { syncId } = await caller.push('suppliers', [{ externalId: 'bystander', name: 'N' }]);
  await healthy[Symbol.asyncDispose]();
  await using service = await startStoppingService('catalog', 'after-writes', world.environment);
  void pushLost(caller, [{ externalId: 'x', name: 'N' }]);
  await service.reached();
  await service.kill();
  const entry = await entries().findOne({ integration: caller.integration, state: 'writing' });
  const watermarks = openWatermarks(world.store, 'catalog_heads', Date.now);
  const key = watermarkKey(caller.integration, 'suppliers');
  await watermarks.closeDead(key, entry?._id ?? '', 0, 0);
  const before = completeUntil(await watermarks.read(key)).toISOString();

  await using _survivor = await world.startCatalog({ now: openClock().now });
  expect(await told(caller, 2, { [syncId]: 'bystander' })).toEqual([
    'bystander supplier.created bystander',
    'lost supplier.created x',
  ]);
  const { total, entities } = await caller.list('suppliers', `since=${before}`);
  expect([total, entities.map(({ externalId }) => externalId)]).toEqual([1, ['x']]);
  expect(await watermarks.read(key)).toMatchObject({ total: 2, open: {} });
});

// Timeline: a survivor takes a push over and finds nothing of it. Before it closes the push in the watermark,
// the records come, and the push's own process counts them, learns that it was taken over, and dies. Only
// then the survivor closes the push as empty.
// What this proves: a later survivor does not count again what the push's own process has counted.
it('a late write is counted once, by its own process or by recovery', { timeout: 60_000 }, async () => {
  const caller = world.caller();
  const clock = openClock();
  await using before = await openMongodbProxy(inject('engines').mongodb);
  await using after = await openMongodbProxy(inject('engines').mongodb);
  await using _slow = await world.startCatalog({}, { MONGODB_URL: before.url });
  const { syncId } = await caller.push('suppliers', [{ externalId: 'bystander', name: 'N' }]);
  await eventually(
    () => entries().findOne({ _id: syncId }),
    (entry) => entry?.state === 'announced',
  );
  const writing = before.holdNext('insert', 'suppliers');
  void pushLost(caller, threeRecords);
  await writing;

  const telling = after.holdNext('find', 'catalog_heads', [caller.integration]);
  await using _survivor = await world.startCatalog({ now: clock.now }, { MONGODB_URL: after.url });
  await telling;
  const givingBack = before.holdNext('update', 'catalog_journal', ['hiddenFrom']);
  before.release();
  await givingBack;
  await before[Symbol.asyncDispose]();
  after.release();
  await eventually(
    () => entries().findOne({ hiddenFrom: caller.integration }),
    (entry) => entry !== null,
  );
  clock.passWatch();

  expect(await told(caller, 2, { [syncId]: 'bystander' })).toEqual([
    'bystander supplier.created bystander',
    'lost supplier.created x',
    'lost supplier.created y',
    'lost supplier.created z',
  ]);
  const watermarks = openWatermarks(world.store, 'catalog_heads', Date.now);
  expect(await watermarks.read(watermarkKey(caller.integration, 'suppliers'))).toMatchObject({
    total: 4,
    open: {},
  });
});

it('a write that never arrives causes no announcement', { timeout: 60_000 }, async () => {
  const caller = world.caller();
  const clock = openClock();
  const healthy = await world.startCatalog();
  const first = await caller.push('suppliers', [{ externalId: 'known', name: 'N', code: 'old' }]);
  await healthy[Symbol.asyncDispose]();
  for (const stage of ['after-entry', 'after-writes'] as const) {
    await using service = await startStoppingService('catalog', stage, world.environment);
    void pushLost(caller, [
      { externalId: stage, name: 'N' },
      { externalId: 'known', name: 'N', code: 'new' },
    ]);
    await service.reached();
    await service.kill();
  }
  const overwriting = await world.startCatalog();
  const later = await caller.push('suppliers', [{ externalId: 'known', name: 'M' }]);
  await overwriting[Symbol.asyncDispose]();
  await using _survivor = await world.startCatalog({ now: clock.now });
  await using _batches = await world.startBatches();
  const others = { _id: { $nin: [first.syncId, later.syncId] } };
  const ofBoth = {
    ...others,
    $or: [{ integration: caller.integration }, { hiddenFrom: caller.integration }],
  };
  const watched = await eventually(
    () => entries().find(ofBoth).sort({ _id: 1 }).toArray(),
    ([nothing, something]) => nothing?.hiddenFrom !== undefined && something?.state === 'announced',
  );
  expect(watched).toMatchObject([{ watched: true }, { watched: true }]);
  const names = { [first.syncId]: 'first', [later.syncId]: 'later' };
  const all = async () => [await told(caller, 3, names), await caller.runs(), await caller.list('suppliers')];
  const before = await all();
  expect(before[0]).toEqual([
    'first supplier.created known',
    'later supplier.updated known name',
    'lost supplier.created after-writes',
    'lost supplier.updated known code',
  ]);
  clock.passWatch();
  const kept = await eventually(
    () => entries().find(ofBoth).toArray(),
    (found) => found.length === 1 && found.every((entry) => entry.watched === undefined),
    settledLateMs,
  );
  expect(kept[0]).toHaveProperty('expireAt');
  for (const name of ['due', 'ids', 'outcomes', 'fields', 'evidence']) {
    expect(kept[0]).not.toHaveProperty(name);
  }
  expect(await all()).toEqual(before);
});
