// The history of pushes, of both services in one list.
import type { SyncRun } from '@integration-sync/contracts';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { newSyncId } from '../../../shared/sync/src/ids.ts';
import { ending } from '../../support/ending.ts';
import { eventually } from '../../support/eventually.ts';
import { openWorld, type Caller, type World } from '../../support/sync.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
  await Promise.all([world.startCatalog(), world.startBatches()]);
});
afterAll(() => world[Symbol.asyncDispose]());

const item = (externalId: string, more: object = {}) => ({ externalId, name: 'N', ...more });

it('the history has an entry for every answered push, newest first', async () => {
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
    action: 'push',
    state: 'completed',
    created,
    updated,
    unchanged,
    failed,
    client: null,
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

it('pages of the history have each push of both services once', async () => {
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
});

const idsOf = (runs: readonly SyncRun[]): string[] => runs.map(({ syncId }) => syncId);

describe('a filtered history', () => {
  const plurals = ['suppliers', 'products', 'batches'] as const;
  let caller: Caller;
  let all: SyncRun[];

  /** Four pushes of each kind, in every other of which an item fails, and the same of a bystander. */
  beforeAll(async () => {
    caller = world.caller();
    const bystander = world.caller();
    for (const plural of [...plurals, ...plurals]) {
      for (const items of [[{}], []]) {
        await caller.push(plural, items);
        await bystander.push(plural, items);
        // Each run has a millisecond of its own, so that every `startedAt` cuts exactly there.
        const pushedAt = Date.now();
        await eventually(Date.now, (now) => now > pushedAt);
      }
    }
    all = (await caller.runs()).entities;
  });

  const expectOnly = async (query: string, isWanted: (run: SyncRun) => boolean): Promise<void> => {
    const wanted = idsOf(all.filter(isWanted));
    const { entities, total } = await caller.runs(query);
    expect({ query, total, ids: idsOf(entities) }).toEqual({ query, total: wanted.length, ids: wanted });
    const byNumber: string[] = [];
    for (let page = 1; page <= wanted.length / 2 + 1; page += 1) {
      const listed = await caller.runs(`${query}&limit=2&page=${page}`);
      expect(listed.total).toBe(wanted.length);
      byNumber.push(...idsOf(listed.entities));
    }
    expect(byNumber).toEqual(wanted);
    const byLink: string[] = [];
    for (let next: string | undefined = `${query}&limit=2`; next !== undefined;) {
      const listed = await caller.runs(next);
      expect(listed.total).toBe(wanted.length);
      byLink.push(...idsOf(listed.entities));
      ({ next } = listed);
    }
    expect(byLink).toEqual(wanted);
  };

  it('shows pushes that began after a time, without that time itself', async () => {
    expect(all).toHaveLength(12);
    for (const since of [all[0], all[1], all[6], all[11]].map((run) => run?.startedAt ?? '')) {
      await expectOnly(`since=${since}`, ({ startedAt }) => startedAt > since);
    }
    await expectOnly('since=1912-06-23', () => true);
    await expectOnly('since=9999-12-31', () => false);
  });

  it('shows pushes of one kind', async () => {
    for (const kind of ['supplier', 'product', 'batch']) {
      await expectOnly(`entityType=${kind}`, ({ entityType }) => entityType === kind);
    }
  });

  it('shows pushes with a failed item', async () => {
    await expectOnly('failed=true', ({ failed }) => failed > 0);
  });

  it('applies all filters together', async () => {
    const since = all[8]?.startedAt ?? '';
    await expectOnly(
      `since=${since}&entityType=batch&failed=true`,
      ({ startedAt, entityType, failed }) => startedAt > since && entityType === 'batch' && failed > 0,
    );
  });

  it('has a cursor that keeps the filters; a caller may repeat these filters, but not change them', async () => {
    const since = all[11]?.startedAt ?? '';
    const { next } = await caller.runs(`since=${since}&entityType=batch&failed=true&limit=1`);
    const again = `${next}&entityType=batch&failed=true&since=${since}&limit=1`;
    expect(await caller.runs(again)).toMatchObject({ total: 2, page: 2 });
    await expect(caller.runs(`${next}&since=2026-03-31&entityType=product&limit=7`)).rejects.toMatchObject({
      code: 'invalid_request',
      errors: [{ pointer: 'limit' }, { pointer: 'since' }, { pointer: 'entityType' }],
    });
    const unfiltered = (await caller.runs('limit=1')).next;
    await expect(caller.runs(`${unfiltered}&failed=true`)).rejects.toMatchObject({
      errors: [{ pointer: 'failed' }],
    });
  });

  it.each([
    ['since', 'whenever'],
    ['since', '2026-02-30'],
    ['entityType', 'Supplier'],
    ['entityType', ''],
    ['failed', 'false'],
    ['failed', '1'],
    ['failed', 'true&failed=true'],
  ])('refuses the filter %s=%s', async (name, value) => {
    await expect(caller.runs(`${name}=${value}`)).rejects.toMatchObject({
      code: 'invalid_request',
      errors: [{ pointer: name }],
    });
  });

  it('refuses several wrong filters with all errors', async () => {
    await expect(caller.runs('page=0&since=x&entityType=y&failed=z')).rejects.toMatchObject({
      errors: ['page', 'since', 'entityType', 'failed'].map((pointer) => ({ pointer })),
    });
  });
});

it('the history shows a push as running until it is answered, and never changes it afterwards', async () => {
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
  using _end = ending(released);
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

it('the history keeps an entry for seven days', async () => {
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

describe('the history entry of one push', () => {
  it('shows the errors of its items in their order, for both services', async () => {
    const caller = world.caller();
    const { syncId } = await caller.push('suppliers', [
      item('a'),
      {},
      item('b', { country: 'XX' }),
      item('c'),
    ]);
    const [listed] = (await caller.runs('limit=1')).entities;
    expect(await caller.run(syncId)).toEqual({
      ...listed,
      errors: [
        { index: 1, externalId: '', error: 'externalId is required; Supplier name is required' },
        { index: 2, externalId: 'b', error: expect.stringContaining('country: expected') },
      ],
      errorsOmitted: 0,
    });
    const ofBatch = await caller.push('batches', [
      { externalId: 'x', productExternalId: 'gone', batchNumber: '1' },
    ]);
    expect(await caller.run(ofBatch.syncId)).toMatchObject({
      syncId: ofBatch.syncId,
      entityType: 'batch',
      failed: 1,
      errors: [{ index: 0, externalId: 'x', error: expect.stringContaining('"gone" not found') }],
    });
  });

  it('without a failed item has an empty list of errors', async () => {
    const caller = world.caller();
    const { syncId } = await caller.push('suppliers', [item('a')]);
    expect(await caller.run(syncId)).toMatchObject({ created: 1, failed: 0, errors: [], errorsOmitted: 0 });
  });

  it('keeps the first hundred errors, each cut after a thousand characters', async () => {
    const caller = world.caller();
    const long = '\u{1f332}'.repeat(255);
    // Every field is wrong, and quoted.
    const wrong = Array.from({ length: 103 }, (_, n) => ({
      externalId: `x${n}`,
      name: 'N',
      supplierExternalId: long,
      category: long.repeat(2),
      country: long,
      hsCode: long,
      unit: long,
      code: long.repeat(2),
    }));
    const { syncId, errors: answered } = await caller.push('products', wrong);
    const { errors, errorsOmitted } = await caller.run(syncId);
    expect([errors.length, errorsOmitted]).toEqual([100, 3]);
    expect(Array.from(answered[0]?.error ?? '').length).toBeGreaterThan(1_000);
    expect(errors.map(({ index }) => index)).toEqual(Array.from({ length: 100 }, (_, n) => n));
    for (const [n, { error }] of errors.entries()) {
      expect(error).toBe(
        Array.from(answered[n]?.error ?? '')
          .slice(0, 1_000)
          .join(''),
      );
    }
  });

  it('is 404 for another integration, and under an id that no push has', async () => {
    const [caller, other] = [world.caller(), world.caller()];
    const { syncId } = await caller.push('suppliers', [item('a')]);
    await expect(other.run(syncId)).rejects.toMatchObject({ code: 'not_found' });
    await expect(caller.run(newSyncId(new Date()))).rejects.toMatchObject({ code: 'not_found' });
    await expect(caller.run('nothing')).rejects.toMatchObject({ code: 'not_found' });
  });
});

it('the history names the client of a push, and filters by client over both services', async () => {
  const caller = world.caller();
  await caller.push('products', [item('p')], {}, { client: 'erp' });
  const lots = [{ externalId: 'x', productExternalId: 'p', batchNumber: 'B' }];
  const { syncId } = await caller.push('batches', lots, {}, { client: 'mes' });
  await caller.push('suppliers', [item('a')]);
  await caller.push('batches', lots, {}, { client: 'erp' });
  expect((await caller.runs()).entities.map(({ client }) => client)).toEqual(['erp', null, 'mes', 'erp']);
  expect(await caller.run(syncId)).toMatchObject({ client: 'mes' });
  const first = await caller.runs('client=erp&limit=1');
  expect(first).toMatchObject({ total: 2, entities: [{ entityType: 'batch', client: 'erp' }] });
  expect(await caller.runs(first.next)).toMatchObject({
    entities: [{ entityType: 'product', client: 'erp' }],
  });
  expect(await caller.runs('client=other')).toMatchObject({ total: 0 });
  for (const query of ['client=', 'client=a&client=b', `client=${'a'.repeat(257)}`]) {
    await expect(caller.runs(query)).rejects.toMatchObject({ errors: [{ pointer: 'client' }] });
  }
});

it('events of a push have ids that begin with its syncId', async () => {
  const caller = world.caller();
  const { syncId } = await caller.push('products', [item('p')]);
  const lot = { externalId: 'x', productExternalId: 'p', batchNumber: 'B', ddsReferenceNumber: 'R' };
  const batches = await caller.push('batches', [lot]);
  const renamed = await caller.push('batches', [{ ...lot, ddsReferenceNumber: 'S' }]);
  const archived = await caller.archive('products', ['p']);
  const events = await eventually(
    () => caller.events(),
    (all) => all.filter(({ body }) => body.event === 'sync.completed').length === 4,
  );
  const pushes = [syncId, batches.syncId, renamed.syncId, archived.syncId];
  const of = pushes.map((push) =>
    events.filter(({ id }) => id.startsWith(`${push}-`)).map(({ body }) => body.event),
  );
  expect(of).toEqual([
    ['product.created', 'sync.completed'],
    ['batch.created', 'dds.created', 'sync.completed'],
    ['batch.updated', 'dds.updated', 'sync.completed'],
    ['product.archived', 'sync.completed'],
  ]);
  expect(of.flat()).toHaveLength(events.length);
});
