// What a plan answers, and that it leaves no trace.
import type { Failure } from '@integration-sync/contracts';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { item } from '../../support/sync-model.ts';
import { openWorld, type Caller, type Plural, type World } from '../../support/sync.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
  await Promise.all([world.startCatalog(), world.startBatches()]);
});
afterAll(() => world[Symbol.asyncDispose]());

const some = fc.constantFrom;
const product = fc.record(
  {
    externalId: some('p', 'q', 'r', ''),
    hscode: some('4407', null),
    'a/b~c': some(1),
    name: some('N', 'M', null, 7),
    supplierExternalId: some('a', 'b', 'gone', '', null),
    unit: some('kg', '', null),
  },
  { requiredKeys: ['name'] },
);
const batch = fc.record(
  {
    externalId: some('x', 'y', 'z'),
    productExternalId: some('p', 'q', 'gone'),
    batchNumber: some('1', '2', ' '),
    quantity: some(1, 2, -1, null),
  },
  { requiredKeys: ['externalId', 'productExternalId'] },
);
const anything = some<unknown>(null, 7, 'text', []);
const itemsOf = <T>(one: fc.Arbitrary<T>) =>
  fc.array(fc.oneof({ weight: 15, arbitrary: one }, { weight: 1, arbitrary: anything }), { maxLength: 8 });
const pushes = fc.array(
  fc.oneof(
    fc.record({ plural: some('suppliers' as const), items: itemsOf(item) }),
    fc.record({ plural: some('products' as const), items: itemsOf(product) }),
    fc.record({ plural: some('batches' as const), items: itemsOf(batch), autoCreateDDS: fc.boolean() }),
  ),
  { minLength: 10, maxLength: 10 },
);

/** Everything that a plan could leave behind. */
async function traces(caller: Caller) {
  const { integration } = caller;
  const collections = await world.store.database.listCollections({}, { nameOnly: true }).toArray();
  const counted = collections.map(async ({ name }) => {
    const documents = world.store.collection<{ _id: string; integration: string }>(name);
    const own = { $or: [{ integration }, { _id: { $regex: `^${integration}/` } }] };
    return [name, await documents.find(own).sort({ _id: 1 }).toArray()] as const;
  });
  return { documents: await Promise.all(counted), events: await caller.events() };
}

it('a plan answers what the same push answers afterwards', { timeout: 240_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(pushes, async (sequence) => {
      const caller = world.caller();
      for (const one of sequence) {
        const { plural, items, ...beside } = one;
        const planned = await caller.plan(plural, items, beside);
        const { unchanged, details, ...answer } = planned;
        const isDetailed = sequence.indexOf(one) % 2 === 0;
        const pushed = isDetailed
          ? await caller.pushDetailed(plural, items, beside)
          : without(await caller.push(plural, items, beside), 'syncId');
        // To the byte.
        expect(JSON.stringify(pushed)).toBe(JSON.stringify(isDetailed ? planned : answer));
        const { entities: runs } = await caller.runs('limit=1');
        expect(runs).toMatchObject([{ unchanged, failed: pushed.errors.length }]);
        expect(details.map(({ index }) => index)).toEqual(items.map((_, index) => index));
        expect(details.map(({ action }) => statuses[action])).toEqual(
          pushed.records.map(({ status }) => status),
        );
        expect(details.filter(({ action }) => action === 'unchanged')).toHaveLength(unchanged);
        for (const { action, changedFields, problems } of details) {
          expect(changedFields.length > 0).toBe(action === 'updated');
          expect(problems.length > 0).toBe(action === 'failed');
        }
      }
    }),
    { numRuns: Number(process.env['PLAN_RUNS'] ?? 25) },
  );
});

function without<From extends object, Key extends keyof From>(from: From, key: Key): Omit<From, Key> {
  const { [key]: _left, ...rest } = from;
  return rest;
}

const statuses = { created: 'CREATED', updated: 'UPDATED', unchanged: 'UPDATED', failed: 'ERROR' };

it('a plan stores no document, no journal entry and no event, and does not move X-Next-Since', async () => {
  const caller = world.caller();
  await caller.push('suppliers', [{ externalId: 'a', name: 'N' }]);
  await caller.push('products', [{ externalId: 'p', name: 'N', supplierExternalId: 'a' }]);
  // Catalog publishes events in the background.
  await expect.poll(async () => (await caller.events()).length, { timeout: 10_000 }).toBe(4);
  await expect
    .poll(async () => JSON.stringify(await traces(caller)), { timeout: 10_000 })
    .not.toContain('"written"');
  const before = { ...(await traces(caller)), nextSince: (await caller.list('suppliers')).nextSince };
  await caller.plan('suppliers', [{ externalId: 'a', name: 'M' }, { externalId: 'new', name: 'N' }, {}]);
  await caller.plan('products', [{ externalId: 'q', name: 'N', supplierExternalId: 'a' }]);
  await caller.plan('batches', [{ externalId: 'x', productExternalId: 'p', batchNumber: '1' }], {
    autoCreateDDS: true,
  });
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect({ ...(await traces(caller)), nextSince: (await caller.list('suppliers')).nextSince }).toEqual(
    before,
  );
});

describe('a plan', () => {
  it('has the action and the problems of each item', async () => {
    const caller = world.caller();
    await caller.push('suppliers', [{ externalId: 'a', name: 'N', code: '1' }]);
    const { details, unchanged } = await caller.plan('suppliers', [
      { externalId: 'a', name: 'N', code: '2' },
      { externalId: 'a', name: 'N', code: '2' },
      { externalId: 'a', name: 'M', code: '1' },
      { externalId: 'new', name: 'N' },
      { externalId: 'new', name: 'N', country: 'XX' },
      {},
      7,
    ]);
    expect(unchanged).toBe(1);
    expect(details).toMatchObject([
      { index: 0, action: 'updated', changedFields: ['code'], problems: [] },
      { index: 1, action: 'unchanged', changedFields: [], problems: [] },
      { index: 2, action: 'updated', changedFields: ['name', 'code'], problems: [] },
      { index: 3, action: 'created', changedFields: [], problems: [] },
      { index: 4, action: 'failed', problems: [{ pointer: '/suppliers/4/country', code: 'wrong_value' }] },
      {
        index: 5,
        action: 'failed',
        problems: [
          { pointer: '/suppliers/5/externalId', code: 'required', detail: 'externalId is required' },
          { pointer: '/suppliers/5/name', code: 'required', detail: 'Supplier name is required' },
        ],
      },
      { index: 6, action: 'failed', problems: [{ pointer: '/suppliers/6', code: 'not_an_object' }] },
    ]);
  });

  it('reports a missing reference unless its id is in the parameter assume', async () => {
    const caller = world.caller();
    const items = ['later', 'never'].map((id) => ({ externalId: id, name: 'N', supplierExternalId: id }));
    const { details } = await caller.plan('products', items, { assume: ['later'] });
    expect(details).toMatchObject([
      { action: 'created' },
      {
        action: 'failed',
        problems: [{ pointer: '/products/1/supplierExternalId', code: 'reference_not_found' }],
      },
    ]);
    const ofBatch = await caller.plan(
      'batches',
      [{ externalId: 'b', productExternalId: 'p', batchNumber: '1' }],
      {
        assume: ['p'],
        autoCreateDDS: true,
      },
    );
    expect(ofBatch).toMatchObject({ success: true, ddsCreated: [{ batchExternalId: 'b', hsCode: null }] });
  });

  it.each([
    { assume: Array.from({ length: 501 }, String), pointers: ['/assume'] },
    { assume: 'a', pointers: ['/assume'] },
    { assume: ['a', '', 7, 'x'.repeat(256)], pointers: ['/assume/1', '/assume/2', '/assume/3'] },
  ])('refuses a wrong parameter assume ($pointers)', async ({ assume, pointers }) => {
    for (const plural of ['suppliers', 'products', 'batches'] satisfies Plural[]) {
      const failure = await world
        .caller()
        .plan(plural, [], { assume })
        .then(
          () => undefined,
          (error: Failure) => error,
        );
      expect(failure).toMatchObject({ code: 'invalid_request' });
      expect(failure?.errors?.map(({ pointer }) => pointer)).toEqual(pointers);
    }
  });
});
