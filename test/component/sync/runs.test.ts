// The history of pushes, of both services in one list.
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { openWorld, type World } from '../../support/sync.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
  await Promise.all([world.startCatalog(), world.startBatches()]);
});
afterAll(() => world[Symbol.asyncDispose]());

const item = (externalId: string, more: object = {}) => ({ externalId, name: 'N', ...more });

it('has an entry for every push that was answered, newest first', async () => {
  const caller = world.caller();
  const began = Date.now();
  const pushes = [
    await caller.push('suppliers', [item('a'), item('b'), {}]),
    await caller.push('products', [item('p')]),
    await caller.push('suppliers', [item('a'), item('b', { code: '1' }), item('c')]),
    await caller.push('batches', [{ externalId: 'x', productExternalId: 'p', batchNumber: 'B' }]),
    await caller.push('batches', [{}]),
    await caller.push('products', []),
  ];
  await caller.pushText('suppliers', '[').catch(() => undefined);
  const { entities, total, page, limit, next } = await caller.runs();
  expect({ total, page, limit, next }).toEqual({ total: 6, page: 1, limit: 50, next: undefined });
  const told = entities.map(({ startedAt: _started, completedAt: _completed, ...rest }) => rest);
  const run = (
    index: number,
    entityType: string,
    created: number,
    updated: number,
    unchanged: number,
    failed: number,
  ) => ({
    syncId: pushes[index]?.syncId,
    entityType,
    state: 'completed',
    created,
    updated,
    unchanged,
    failed,
  });
  expect(told).toEqual([
    run(5, 'product', 0, 0, 0, 0),
    run(4, 'batch', 0, 0, 0, 1),
    run(3, 'batch', 1, 0, 0, 0),
    run(2, 'supplier', 1, 2, 1, 0),
    run(1, 'product', 1, 0, 0, 0),
    run(0, 'supplier', 2, 0, 0, 1),
  ]);
  for (const { startedAt, completedAt } of entities) {
    expect(Date.parse(startedAt)).toBeGreaterThanOrEqual(began);
    expect(Date.parse(completedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(startedAt));
  }
  expect(await world.caller().runs()).toMatchObject({ total: 0, entities: [] });
});

it('is cut into pages that hold each push once, whichever service it went to', async () => {
  const caller = world.caller();
  const ids: string[] = [];
  for (let index = 0; index < 25; index += 1) {
    const plural = index % 3 === 0 ? 'suppliers' : index % 5 === 0 ? 'products' : 'batches';
    ids.unshift((await caller.push(plural, [])).syncId);
  }
  const byNumber: string[] = [];
  for (let page = 1; page <= 5; page += 1) {
    const listed = await caller.runs(`page=${page}&limit=7`);
    expect(listed).toMatchObject({ total: 25, page, limit: 7 });
    byNumber.push(...listed.entities.map(({ syncId }) => syncId));
  }
  expect(byNumber).toEqual(ids);
  const byLink: string[] = [];
  for (let next: string | undefined = 'limit=7'; next !== undefined;) {
    const listed = await caller.runs(next);
    byLink.push(...listed.entities.map(({ syncId }) => syncId));
    ({ next } = listed);
  }
  expect(byLink).toEqual(ids);
  await expect(caller.runs('page=0')).rejects.toMatchObject({ code: 'invalid_request' });
  await expect(caller.runs('cursor=abc')).rejects.toMatchObject({ code: 'invalid_request' });
  expect(await caller.runs('since=whenever')).toMatchObject({ total: 25 });
});

it('shows a push as running until it is answered, and never changes it after', async () => {
  const caller = world.caller();
  const released = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  const other = await openWorld(inject('engines').mongodb);
  await using _other = other;
  await other.startBatches();
  await other.startCatalog({
    async onStage(stage) {
      if (stage !== 'after-writes') return;
      arrived.resolve();
      await released.promise;
    },
  });
  const held = other.caller(caller.integration);
  const pushing = held.push('suppliers', [item('a')]);
  await arrived.promise;
  expect((await held.runs()).entities).toMatchObject([{ state: 'running', created: 0, completedAt: null }]);
  released.resolve();
  const { syncId } = await pushing;
  const first = (await held.runs()).entities;
  expect(first).toMatchObject([{ syncId, state: 'completed', created: 1, completedAt: expect.any(String) }]);
  await held.push('suppliers', [item('a', { code: '1' })]);
  expect((await held.runs()).entities[1]).toEqual(first[0]);
});

it('keeps an entry for seven days', async () => {
  const indexes = await world.store.collection('catalog_journal').listIndexes().toArray();
  expect(indexes.find(({ name }) => name === 'expiry')).toMatchObject({
    key: { expireAt: 1 },
    expireAfterSeconds: 0,
  });
  const caller = world.caller();
  const { syncId } = await caller.push('suppliers', [item('a')]);
  const journal = world.store.collection<{ _id: string; expireAt?: Date; state: string }>('catalog_journal');
  const entry = await eventually(
    () => journal.findOne({ _id: syncId }),
    (found) => found?.state === 'announced',
  );
  const days = ((entry?.expireAt?.getTime() ?? 0) - Date.now()) / (24 * 60 * 60 * 1_000);
  expect(days).toBeGreaterThan(6.99);
  expect(days).toBeLessThan(7.01);
});
