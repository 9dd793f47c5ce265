// Many callers at once, over two replicas of each service: the outcome is that of some order of their pushes.
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import {
  openWorld,
  pushPatiently,
  type Caller,
  type Pushed,
  type SeenEvent,
  type World,
} from '../../support/sync.ts';

// The full measure takes minutes: SYNC_RACES=full npx vitest run test/component/sync/races.test.ts
const full = process.env['SYNC_RACES'] === 'full';
const clients = full ? 50 : 12;
const rounds = full ? 20 : 4;
const items = full ? 500 : 60;

let world: World;

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
  await Promise.all([world.startCatalog(), world.startCatalog(), world.startBatches(), world.startBatches()]);
});
afterAll(() => world[Symbol.asyncDispose]());

const eventsAfter = (caller: Caller, pushes: number): Promise<SeenEvent[]> =>
  eventually(
    () => caller.events(),
    (events) => events.filter(({ body }) => body.event === 'sync.completed').length === pushes,
    30_000,
  );

const inParallel = <T>(count: number, run: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => run(index)));

const flatRecords = (pushes: readonly Pushed[]) => pushes.flatMap(({ records }) => records);

describe('the same new records from many callers', () => {
  it(
    'are created exactly once each, under one internal id, and never fail',
    { timeout: 600_000 },
    async () => {
      const caller = world.caller();
      // The order differs from caller to caller, so that callers that wait for each other could wait in a
      // circle.
      const pushOf = (client: number) =>
        Array.from({ length: items }, (_, index) => ({
          externalId: `s${(index * 7 + client * 13) % items}`,
          name: 'Same for all',
        }));
      const pushes = (
        await inParallel(clients, async (client) => {
          const made: Pushed[] = [];
          for (let round = 0; round < rounds; round += 1)
            made.push(await pushPatiently(() => caller.push('suppliers', pushOf(client))));
          return made;
        })
      ).flat();

      expect(pushes.flatMap(({ errors }) => errors)).toEqual([]);
      const created = flatRecords(pushes).filter(({ status }) => status === 'CREATED');
      expect(created.map(({ externalId }) => externalId).toSorted()).toEqual(
        Array.from({ length: items }, (_, index) => `s${index}`).toSorted(),
      );
      const ids = new Set(
        flatRecords(pushes).map(({ externalId, internalId }) => `${externalId} ${internalId}`),
      );
      expect(ids.size).toBe(items);
      expect(pushes.every(({ records, created: isNew, updated }) => isNew + updated === records.length)).toBe(
        true,
      );

      const { total } = await caller.list('suppliers');
      expect(total).toBe(items);
      expect((await caller.listAll('suppliers')).length).toBe(items);

      const events = await eventsAfter(caller, clients * rounds);
      const createdEvents = events.filter(({ body }) => body.event === 'supplier.created');
      expect(createdEvents).toHaveLength(items);
      expect(new Set(createdEvents.map(({ id }) => id)).size).toBe(items);
      expect(events.filter(({ body }) => body.event === 'supplier.updated')).toEqual([]);
      expect(await caller.runs('limit=1')).toMatchObject({ total: clients * rounds });
    },
  );
});

describe('different changes to the same records from many callers', () => {
  it(
    'are all applied one after another: each change is announced once, and the last change remains',
    { timeout: 120_000 },
    async () => {
      const caller = world.caller();
      const names = ['a', 'b', 'c', 'd', 'e'];
      await caller.push(
        'suppliers',
        names.map((externalId) => ({ externalId, name: 'at first' })),
      );
      const writers = 8;
      const pushes = await inParallel(writers, (writer) =>
        pushPatiently(() =>
          caller.push(
            'suppliers',
            names.map((externalId) => ({ externalId, name: `by ${writer}`, code: `${writer}` })),
          ),
        ),
      );
      expect(pushes.flatMap(({ errors }) => errors)).toEqual([]);
      const events = await eventsAfter(caller, writers + 1);
      const updates = events.filter(({ body }) => body.event === 'supplier.updated');
      // Each caller's values differ from every other's, so each caller changed every record.
      expect(updates).toHaveLength(writers * names.length);
      expect(new Set(updates.map(({ id }) => id)).size).toBe(writers * names.length);
      const documents = await world.store
        .collection<{
          _id: string;
          integration: string;
          push: string;
          fields: { name: string; code: string };
        }>('suppliers')
        .find({ integration: caller.integration })
        .toArray();
      for (const { fields, push } of documents) {
        expect(fields.name).toBe(`by ${fields.code}`);
        expect(push).toBe(pushes[Number(fields.code)]?.syncId);
      }
    },
  );

  it('are all kept where the changes concern different fields', async () => {
    const caller = world.caller();
    const fields = ['code', 'address', 'contactPerson', 'phone'] as const;
    await caller.push('suppliers', [{ externalId: 'a', name: 'N' }]);
    await inParallel(fields.length, (index) =>
      pushPatiently(() =>
        caller.push('suppliers', [{ externalId: 'a', name: 'N', [fields[index] ?? '']: 'set' }]),
      ),
    );
    const events = (await eventsAfter(caller, 1 + fields.length)).flatMap(({ body }) =>
      body.event === 'supplier.updated' && 'changedFields' in body.data ? [body.data.changedFields] : [],
    );
    expect(events.flat().toSorted()).toEqual([...fields].toSorted());
    expect(events.every((changed) => changed.length === 1)).toBe(true);
  });
});

describe('a record and the record that it references, pushed concurrently', () => {
  it(
    'leave no product without its supplier and no batch without its product',
    { timeout: 120_000 },
    async () => {
      const caller = world.caller();
      const outcomes = await inParallel(20, async (index) => {
        const [supplier, product, batch] = await Promise.all([
          pushPatiently(() => caller.push('suppliers', [{ externalId: `s${index}`, name: 'S' }])),
          pushPatiently(() =>
            caller.push('products', [
              { externalId: `p${index}`, name: 'P', supplierExternalId: `s${index}` },
            ]),
          ),
          pushPatiently(() =>
            caller.push('batches', [
              { externalId: `b${index}`, productExternalId: `p${index}`, batchNumber: 'B' },
            ]),
          ),
        ]);
        return { supplier, product, batch };
      });
      for (const [index, { supplier, product, batch }] of outcomes.entries()) {
        expect(supplier.created).toBe(1);
        expect(product.errors.length).toBe(product.created === 1 ? 0 : 1);
        expect(batch.errors.length).toBe(batch.created === 1 ? 0 : 1);
        // Every accepted record pointed at something: its parent was created too.
        expect(batch.created).toBeLessThanOrEqual(product.created);
        expect(batch.errors.map(({ error }) => error)).toEqual(
          batch.created === 1 ? [] : [`Product with externalId "p${index}" not found. Sync products first.`],
        );
      }
      // What failed for coming too early succeeds once the caller pushes it again.
      const again = await caller.push(
        'products',
        outcomes.map((_, index) => ({ externalId: `p${index}`, name: 'P', supplierExternalId: `s${index}` })),
      );
      expect(again.errors).toEqual([]);
      const batches = await caller.push(
        'batches',
        outcomes.map((_, index) => ({
          externalId: `b${index}`,
          productExternalId: `p${index}`,
          batchNumber: 'B',
        })),
      );
      expect(batches.errors).toEqual([]);
    },
  );

  it('are visible to every later push on each replica', async () => {
    const caller = world.caller();
    for (let index = 0; index < 20; index += 1) {
      await caller.push('products', [{ externalId: `p${index}`, name: 'P' }]);
      const { errors } = await caller.push('batches', [
        { externalId: 'b', productExternalId: `p${index}`, batchNumber: 'B' },
      ]);
      expect(errors).toEqual([]);
    }
  });
});

it('concurrent pushes draft one statement for a batch', async () => {
  const caller = world.caller();
  await caller.push('products', [{ externalId: 'p', name: 'P' }]);
  const batches = Array.from({ length: 10 }, (_, index) => ({
    externalId: `b${index}`,
    productExternalId: 'p',
    batchNumber: 'B',
  }));
  const pushes = await inParallel(8, () =>
    pushPatiently(() => caller.push('batches', batches, { autoCreateDDS: true })),
  );
  const drafted = pushes.flatMap(({ ddsCreated }) => ddsCreated ?? []);
  expect(drafted.map(({ batchExternalId }) => batchExternalId).toSorted()).toEqual(
    batches.map(({ externalId }) => externalId).toSorted(),
  );
  expect(await caller.dds()).toMatchObject({ total: 10 });
  const events = await eventsAfter(caller, 9);
  expect(events.filter(({ body }) => body.event === 'dds.created')).toHaveLength(10);
});
