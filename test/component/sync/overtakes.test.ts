// Pushes that overtake each other inside the database: a proxy holds one operation back while others go on.
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { anHourAhead } from '../../support/left-behind.ts';
import { openMongodbProxy } from '../../support/mongodb-proxy.ts';
import { startStoppingService } from '../../support/stopping-service.ts';
import { openWorld, type Caller, type World } from '../../support/sync.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
});
afterAll(() => world[Symbol.asyncDispose]());

/** The announced changes, once so many pushes are announced: of which push, of which record, which fields. */
async function changesTold(caller: Caller, pushes: number): Promise<string[]> {
  const events = await eventually(
    () => caller.events(),
    (all) => all.filter(({ body }) => body.event === 'sync.completed').length === pushes,
  );
  return events
    .flatMap(({ id, body: { data } }) =>
      'externalId' in data && 'changedFields' in data
        ? [`${id.replace(/-.*/, '')} ${data.externalId} ${data.changedFields.join()}`]
        : [],
    )
    .toSorted();
}

describe('a push that lost one record to a concurrent push', () => {
  // Setup: the catalog of the slow push takes no other push any more, so that the others come to another one: in one
  // catalog they would wait for the slow one.
  // Timeline: the slow push is about to change both records. Another changes b, and so the slow one changes
  // only a. Before it looks which of them are its own, a third push changes a again.
  // What this proves: it goes on with b alone, and leaves a to the later push.
  it('does not overwrite the change of a later push', { timeout: 60_000 }, async () => {
    const caller = world.caller();
    await using proxy = await openMongodbProxy(inject('engines').mongodb);
    const slowCatalog = await world.startCatalog({}, { MONGODB_URL: proxy.url });
    const { records } = await caller.push('suppliers', [
      { externalId: 'a', name: 'first', code: '1' },
      { externalId: 'b', name: 'first', code: '1' },
      { externalId: 'bystander', name: 'first' },
    ]);
    const changing = proxy.holdNext('update', 'suppliers');
    const slow = caller.push('suppliers', [
      { externalId: 'a', name: 'slow', code: '2' },
      { externalId: 'b', name: 'slow', code: '2' },
    ]);
    await changing;
    const closing = slowCatalog[Symbol.asyncDispose]();
    await using _other = await world.startCatalog();
    const earlier = await caller.push('suppliers', [{ externalId: 'b', name: 'earlier' }]);
    const looking = proxy.holdNext('find', 'suppliers', ['sync_']);
    proxy.release();
    await looking;
    const later = await caller.push('suppliers', [{ externalId: 'a', name: 'later' }]);
    proxy.release();
    const { syncId, updated } = await slow;
    await closing;
    expect(updated).toBe(2);

    expect(await changesTold(caller, 4)).toEqual(
      [
        `${syncId} a name,code`,
        `${syncId} b name,code`,
        `${earlier.syncId} b name`,
        `${later.syncId} a name`,
      ].toSorted(),
    );
    const documents = await world.store
      .collection<{ _id: string; integration: string; push: string; fields: object }>('suppliers')
      .find({ integration: caller.integration })
      .sort({ order: 1 })
      .toArray();
    expect(documents.map(({ push, fields }) => [push, fields])).toEqual([
      [later.syncId, { name: 'later', code: '2' }],
      [syncId, { name: 'slow', code: '2' }],
      [documents[2]?.push, { name: 'first' }],
    ]);
    expect(documents.map(({ _id }) => _id)).toEqual(records.map(({ internalId }) => internalId));
  });
});

describe('a change of a dead process', () => {
  // Timeline: a survivor has taken the push over, and is about to look at its records. Before it does,
  // another push changes one of them.
  // What this proves: the survivor announces the dead push's change all the same.
  it('is announced although it is overwritten during recovery', { timeout: 60_000 }, async () => {
    const caller = world.caller();
    const healthy = await world.startCatalog();
    await caller.push('suppliers', [
      { externalId: 'a', name: 'first', code: '1' },
      { externalId: 'b', name: 'first', code: '1' },
    ]);
    await healthy[Symbol.asyncDispose]();
    await using service = await startStoppingService('catalog', 'after-writes', world.environment);
    const lost = caller.push('suppliers', [
      { externalId: 'a', name: 'first', code: '2' },
      { externalId: 'b', name: 'first', code: '2' },
    ]);
    lost.catch(() => undefined);
    await service.reached();
    await service.kill();
    await using proxy = await openMongodbProxy(inject('engines').mongodb);
    const looking = proxy.holdNext('find', 'suppliers', ['order\0', 'changed\0']);
    await using _survivor = await world.startCatalog({ now: anHourAhead }, { MONGODB_URL: proxy.url });
    await looking;
    const later = await caller.push('suppliers', [{ externalId: 'a', name: 'later' }]);
    proxy.release();

    const told = await changesTold(caller, 3);
    expect(told.map((change) => change.replace(later.syncId, 'later').replace(/sync_\w+/, 'dead'))).toEqual([
      'dead a code',
      'dead b code',
      'later a name',
    ]);
  });
});

describe('a push whose journal entry is inserted after a listing', () => {
  interface Watermark {
    _id: string;
    open: Record<string, number>;
    total: number;
  }
  const headOf = (caller: Caller) =>
    world.store.collection<Watermark>('catalog_heads').findOne({ _id: `${caller.integration}/suppliers` });
  const openOnes = (watermark: Watermark | null): string[] => Object.keys(watermark?.open ?? {});

  // Timeline: a replica whose clock is behind has opened its push in the watermark, and its entry is on the
  // way. By the clock of another replica, which lists, that was long ago.
  // What this proves: what the listing has said stays true, as the entry can no longer arrive.
  it(
    'is refused, and writes no record, if the listing has declared the push dead',
    { timeout: 60_000 },
    async () => {
      const caller = world.caller();
      await using proxy = await openMongodbProxy(inject('engines').mongodb);
      const behind = await world.startCatalog({ now: () => Date.now() - 40_000 }, { MONGODB_URL: proxy.url });
      await using _batches = await world.startBatches();
      await caller.push('suppliers', [{ externalId: 'bystander', name: 'N' }]);
      const entering = proxy.holdNext('insert', 'catalog_journal');
      const late = caller.push('suppliers', [{ externalId: 'a', name: 'N' }]).then(
        () => 'answered',
        (error: unknown) => error,
      );
      await entering;
      await eventually(
        () => headOf(caller),
        (watermark) => openOnes(watermark).length === 1,
      );
      await using _other = await world.startCatalog();
      await eventually(
        async () => {
          await caller.list('suppliers');
          return headOf(caller);
        },
        (watermark) => openOnes(watermark).length === 0,
      );
      const { nextSince = '' } = await caller.list('suppliers');
      proxy.release();
      expect(await late).toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 });
      await behind[Symbol.asyncDispose]();

      expect(await caller.list('suppliers')).toMatchObject({ total: 1, entities: [{}], nextSince });
      // The tombstone that keeps its entry away is no push.
      expect(await caller.runs()).toMatchObject({ total: 1, entities: [{ state: 'completed' }] });
      expect(await caller.push('suppliers', [{ externalId: 'a', name: 'N' }])).toMatchObject({ created: 1 });
      expect(await caller.list('suppliers', `since=${nextSince}`)).toMatchObject({
        entities: [{ externalId: 'a' }],
      });
      expect(await changesTold(caller, 2)).toEqual([]);
      expect(await headOf(caller)).toMatchObject({ total: 2, open: {} });
    },
  );
});
