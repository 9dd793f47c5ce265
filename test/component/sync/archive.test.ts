// Records archived and erased: what the service answers, lists and announces, and what is left of the values
// of an erased supplier.
import { setTimeout as wait } from 'node:timers/promises';
import { routes, type Failure, type ListingEntity } from '@integration-sync/contracts';
import * as fc from 'fast-check';
import { Errors } from 'typebox/value';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { internalIdOf } from '../../../shared/sync/src/ids.ts';
import type { Entry } from '../../../shared/sync/src/journal/journal-entry.ts';
import { text as bytesToText } from '../../support/bus.ts';
import { item, Model, storedBy, toldTo } from '../../support/sync-model.ts';
import { ending } from '../../support/ending.ts';
import { openTestLog } from '../../support/log.ts';
import { openWorld, type Caller, type World } from '../../support/sync.ts';

let world: World;
const { log, text: logged } = openTestLog();

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
  await Promise.all([world.startCatalog({ log }), world.startCatalog({ log }), world.startBatches({ log })]);
});
afterAll(() => world[Symbol.asyncDispose]());

const supplier = (externalId: string, more: object = {}) => ({ externalId, name: 'N', ...more });
const statusesOf = (entities: readonly ListingEntity[]): string[] =>
  entities.map(({ externalId, name, syncStatus }) => `${externalId} ${name} ${syncStatus}`);
const completed = (caller: Caller, count: number): Promise<string[]> => toldTo(caller, count);

const ids = fc.constantFrom('a', 'b', 'c', 'A', '__proto__', '🌲', 'never');
const step = fc.oneof(
  fc.record({ action: fc.constant('push' as const), items: fc.array(item, { maxLength: 6 }) }),
  fc.record({
    action: fc.constantFrom('archive' as const, 'erase' as const),
    externalIds: fc.array(ids, { maxLength: 4 }),
  }),
);

type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

/** The statuses in the answer, and what it counts and says of them. */
async function answerTo(caller: Caller, one: Step) {
  if (one.action === 'push') {
    const { records } = await caller.push('suppliers', one.items);
    return { statuses: records.map(({ status }) => status) };
  }
  const {
    records,
    errors,
    syncId: _syncId,
    ...counts
  } = one.action === 'archive'
    ? await caller.archive('suppliers', one.externalIds)
    : await caller.erase(one.externalIds);
  return {
    statuses: records.map(({ status }) => status),
    ids: records.map(({ externalId }) => externalId),
    errors: errors.length,
    ...counts,
  };
}

function expectedOf(model: Model, one: Step) {
  if (one.action === 'push') return { statuses: model.push(one.items).statuses };
  const statuses = model.changeStatus(one.action, one.externalIds);
  const errors = statuses.filter((status) => status === 'ERROR').length;
  const counted = one.action === 'archive' ? 'archived' : 'erased';
  return {
    statuses,
    ids: one.externalIds,
    errors,
    success: errors === 0,
    [counted]: statuses.length - errors,
  };
}

const isErased = (stored: ReadonlyMap<string, string>) => stored.get('syncStatus') === '"ERASED"';

it(
  'archiving and erasing answer, store, list and announce what a reference model computes',
  { timeout: 120_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 10 }), async (steps) => {
        const caller = world.caller();
        const model = new Model();
        for (const one of steps) expect(await answerTo(caller, one)).toEqual(expectedOf(model, one));
        const kept = [...model.records].map(([id, stored]) => {
          const key = isErased(stored) ? internalIdOf('sup', caller.integration, id) : id;
          return [key, stored] as const;
        });
        expect([...(await storedBy(world, caller))]).toEqual(kept);
        expect(statusesOf(await caller.listAll('suppliers', 'limit=2'))).toEqual(
          [...model.records].map(([id, stored]) => {
            const name: unknown = JSON.parse(stored.get('name') ?? '""');
            const status: unknown = JSON.parse(stored.get('syncStatus') ?? '"SYNCED"');
            return `${isErased(stored) ? '' : id} ${String(name)} ${String(status)}`;
          }),
        );
        expect((await caller.list('suppliers')).total).toBe(model.records.size);
        expect((await completed(caller, steps.length)).toSorted()).toEqual(model.events.toSorted());
      }),
      { numRuns: Number(process.env['ARCHIVE_MODEL_RUNS'] ?? 30) },
    );
  },
);

describe('an archived record', () => {
  it('stays listed, is found by a poll, and is announced once', async () => {
    const [caller, bystander] = [world.caller(), world.caller()];
    for (const one of [caller, bystander]) await one.push('suppliers', [supplier('a'), supplier('b')]);
    const { nextSince = '' } = await caller.list('suppliers');
    const answer = await caller.archive('suppliers', ['b']);
    const [, b] = (await caller.list('suppliers')).entities;
    expect(answer).toEqual({
      success: true,
      archived: 1,
      errors: [],
      records: [{ externalId: 'b', internalId: b?.internalId, status: 'ARCHIVED' }],
      syncId: answer.syncId,
    });
    expect(statusesOf((await caller.list('suppliers')).entities)).toEqual(['a N SYNCED', 'b N ARCHIVED']);
    expect(statusesOf((await caller.list('suppliers', `since=${nextSince}`)).entities)).toEqual([
      'b N ARCHIVED',
    ]);
    const again = await caller.archive('suppliers', ['b']);
    expect({ ...again, syncId: '' }).toEqual({ ...answer, syncId: '' });
    const { entities: runs } = await caller.runs();
    expect(runs).toMatchObject([
      { syncId: again.syncId, entityType: 'supplier', created: 0, updated: 1, unchanged: 1, failed: 0 },
      { syncId: answer.syncId, entityType: 'supplier', created: 0, updated: 1, unchanged: 0, failed: 0 },
      { created: 2 },
    ]);
    await completed(caller, 3);
    const events = await caller.events();
    expect(events.filter(({ body }) => body.event === 'supplier.archived')).toMatchObject([
      {
        id: `${answer.syncId}-archived-0`,
        subject: `events.${caller.integration}.supplier.archived`,
        body: { data: { externalId: 'b', internalId: b?.internalId } },
      },
    ]);
    expect(statusesOf((await bystander.list('suppliers')).entities)).toEqual(['a N SYNCED', 'b N SYNCED']);
  });

  it('still satisfies references, and shows all of its fields', async () => {
    const caller = world.caller();
    await caller.push('suppliers', [supplier('s', { country: 'SE' })]);
    await caller.push('products', [{ externalId: 'p', name: 'P', supplierExternalId: 's' }]);
    await caller.archive('suppliers', ['s']);
    await caller.archive('products', ['p']);
    const product = { externalId: 'q', name: 'Q', supplierExternalId: 's' };
    const batch = { externalId: 'b', productExternalId: 'p', batchNumber: 'B' };
    expect(await caller.push('products', [product])).toMatchObject({ success: true, created: 1 });
    expect(await caller.push('batches', [batch])).toMatchObject({ success: true, created: 1 });
    expect(await caller.archive('batches', ['b'])).toMatchObject({ success: true, archived: 1 });
    expect((await caller.list('suppliers', 'details=true')).entities).toMatchObject([
      { syncStatus: 'ARCHIVED', details: { fields: { name: 'N', country: 'SE' } } },
    ]);
    const [listed] = (await caller.list('suppliers', 'details=true')).entities as { details?: object }[];
    expect(JSON.stringify(listed?.details)).not.toContain('syncStatus');
    expect(statusesOf((await caller.list('batches')).entities)).toEqual(['b B ARCHIVED']);
    await completed(caller, 7);
    const kinds = (await caller.events()).map(({ body }) => body.event);
    expect(kinds.filter((kind) => kind.endsWith('.archived')).toSorted()).toEqual([
      'batch.archived',
      'product.archived',
      'supplier.archived',
    ]);
  });

  it('is restored by a push of its id, also with unchanged fields', async () => {
    const caller = world.caller();
    const first = await caller.push('suppliers', [supplier('a'), supplier('b')]);
    await caller.archive('suppliers', ['a', 'b']);
    const planned = await caller.plan('suppliers', [supplier('a')]);
    expect(planned.details).toMatchObject([{ action: 'updated', changedFields: ['syncStatus'] }]);
    const restored = await caller.push('suppliers', [supplier('a'), supplier('b', { name: 'M' })]);
    expect(restored.records).toMatchObject([{ status: 'UPDATED' }, { status: 'UPDATED' }]);
    expect(restored.records.map(({ internalId }) => internalId)).toEqual(
      first.records.map(({ internalId }) => internalId),
    );
    expect(statusesOf((await caller.list('suppliers')).entities)).toEqual(['a N SYNCED', 'b M SYNCED']);
    expect((await completed(caller, 3)).filter((line) => line.startsWith('supplier.updated'))).toEqual([
      'supplier.updated a syncStatus',
      'supplier.updated b name,syncStatus',
    ]);
  });
});

const productOf = (externalId: string) => ({ externalId, name: 'P', supplierExternalId: 's' });
const secret = (name: string) => `${name}-7d1e5a`;

const searchAll = async () => ({
  collections: (await searchCollections(/[\w ]+-7d1e5a/g)).toSorted(),
  streams: await searchStreams(/\w+-7d1e5a/g),
  logs: logged().match(/\w+-7d1e5a/g) ?? [],
});

describe('an erased supplier', () => {
  it('leaves its internal id, which a push of the same externalId gets again', async () => {
    const [caller, bystander] = [world.caller(), world.caller()];
    const [first] = (await caller.push('suppliers', [supplier('a', { country: 'SE' }), supplier('b')]))
      .records;
    await bystander.push('suppliers', [supplier('a')]);
    const { nextSince = '' } = await caller.list('suppliers');
    const answer = await caller.erase(['a']);
    expect(answer).toMatchObject({
      success: true,
      erased: 1,
      errors: [],
      records: [{ externalId: 'a', internalId: first?.internalId, status: 'ERASED' }],
    });
    const { entities } = await caller.list('suppliers', `since=${nextSince}&details=true`);
    expect(entities).toEqual([
      {
        externalId: '',
        internalId: first?.internalId,
        name: '',
        syncStatus: 'ERASED',
        lastSyncedAt: expect.any(String),
        details: {
          fields: {},
          createdBy: expect.any(String),
          changedBy: answer.syncId,
          changedAt: expect.any(String),
        },
      },
    ]);
    expect((await caller.erase(['a'])).records).toEqual(answer.records);
    expect(await caller.archive('suppliers', ['a', 'b'])).toMatchObject({
      archived: 1,
      errors: [{ externalId: 'a', error: 'Supplier with externalId "a" not found' }],
    });
    await completed(caller, 4);
    expect((await caller.events()).filter(({ body }) => body.event === 'supplier.erased')).toMatchObject([
      { id: `${answer.syncId}-erased-0`, body: { data: { externalId: '', internalId: first?.internalId } } },
    ]);

    const again = await caller.push('suppliers', [supplier('a', { name: 'M' })]);
    expect(again.records).toEqual([{ ...first, status: 'UPDATED' }]);
    const { entities: restored } = await caller.list('suppliers', 'externalId=a&details=true');
    expect(restored).toMatchObject([
      { externalId: 'a', name: 'M', syncStatus: 'SYNCED', details: { fields: { name: 'M' } } },
    ]);
    expect(statusesOf((await bystander.list('suppliers')).entities)).toEqual(['a N SYNCED']);
  });

  it('no longer satisfies references a second later, on any replica', async () => {
    const caller = world.caller();
    await caller.push('suppliers', [supplier('s')]);
    // This is often enough that both replicas remember the supplier.
    for (let nth = 0; nth < 20; nth += 1) await caller.push('products', [productOf('p')]);
    const plans = Array.from({ length: 20 }, () => caller.plan('products', [productOf('q')]));
    expect((await Promise.all(plans)).every(({ success }) => success)).toBe(true);
    await caller.erase(['s']);
    await wait(1_000);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, nth) => caller.push('products', [productOf(`p${nth}`)])),
    );
    expect(answers.map(({ errors }) => errors)).toEqual(
      answers.map((_, nth) => [
        { externalId: `p${nth}`, error: 'Supplier with externalId "s" not found. Sync suppliers first.' },
      ]),
    );
    await caller.push('suppliers', [supplier('s')]);
    expect(await caller.push('products', [productOf('q')])).toMatchObject({ success: true });
  });

  it('has none of its values in any collection, stream or log', async () => {
    const caller = world.caller();
    const values = {
      name: secret('name'),
      code: secret('code'),
      country: 'SE',
      address: secret('address'),
      contactPerson: secret('contact'),
      email: `${secret('email')}@example.com`,
      phone: secret('phone'),
      certifications: [secret('fsc'), secret('pefc')],
    };
    const other = supplier('kept', { contactPerson: 'kept-7d1e5a' });
    await caller.push('suppliers', [supplier('person', values), other]);
    await caller.push('suppliers', [supplier('person', { ...values, name: secret('renamed') })]);
    // The answer quotes what is wrong, and so does the history.
    const wrong = supplier('person', { email: secret('no address'), phone: ['phone-7d1e5a'] });
    await caller.push('suppliers', [wrong, supplier('kept', { email: 'kept-7d1e5a' })]);
    await caller.plan('suppliers', [wrong]);
    await completed(caller, 3);
    const before = await searchAll();
    expect(before.collections.length).toBeGreaterThan(8);
    expect(before.streams).toEqual([]);
    const { syncId } = await caller.erase(['person']);
    await completed(caller, 4);
    expect(await searchAll()).toEqual({
      collections: before.collections.filter((value) => value.startsWith('kept')),
      streams: [],
      logs: [],
    });
    const { entities: runs } = await caller.runs();
    expect(runs.map(({ failed }) => failed)).toEqual([0, 2, 0, 0]);
    const failed = await caller.run(runs[1]?.syncId ?? '');
    expect(failed).toMatchObject({ errors: [{ externalId: 'kept' }], errorsOmitted: 1 });
    expect(runs[0]?.syncId).toBe(syncId);
  });

  it('leaves none of its values though no push of the supplier was ever accepted', async () => {
    const caller = world.caller();
    await caller.push('suppliers', [
      supplier('person', { email: secret('unaccepted') }),
      supplier('other', { email: 'kept-7d1e5a' }),
    ]);
    await completed(caller, 1);
    const before = await searchAll();
    expect(before.collections.some((value) => value.startsWith('unaccepted'))).toBe(true);
    const erased = await caller.erase(['person']);
    expect(erased).toMatchObject({ erased: 0, errors: [{ externalId: 'person' }] });
    await completed(caller, 2);
    const after = await searchAll();
    expect(after.collections).toEqual(before.collections.filter((value) => value.startsWith('kept')));
  });
});

/** In every collection of every service. */
async function searchCollections(pattern: RegExp): Promise<string[]> {
  const { database } = world.store;
  const collections = await database.listCollections({}, { nameOnly: true }).toArray();
  const found = collections.map(async ({ name }) => {
    const documents = await database.collection(name).find().toArray();
    return JSON.stringify(documents).match(pattern) ?? [];
  });
  return (await Promise.all(found)).flat();
}

/** In the bodies of all messages that nats-server keeps. */
async function searchStreams(pattern: RegExp): Promise<string[]> {
  const found: string[] = [];
  for (const [stream, subject] of [
    ['EVENTS', 'events.>'],
    ['EVENT_BATCHES', 'event-batches.>'],
  ] as const) {
    const messages = world.bus.readStream(stream, { subject, from: { sequence: 1 } });
    for await (const { body } of messages) found.push(...(bytesToText(body).match(pattern) ?? []));
  }
  return found;
}

const refusal = async (body: string) => {
  const caller = world.caller();
  await caller.push('suppliers', [supplier('a')]);
  const failure = await caller.archiveText('suppliers', body).then(
    () => undefined,
    (error: unknown) => error,
  );
  expect((await caller.runs()).total).toBe(1);
  return failure;
};

describe('the errors of failed items in runs', () => {
  it('are removed where they concern the erased supplier, and stay for other suppliers', async () => {
    const caller = world.caller();
    await caller.push('suppliers', [supplier('1'), supplier('2')]);
    const wrong = await caller.push('suppliers', [
      supplier('1', { email: '@' }),
      supplier('2', { email: '@' }),
    ]);
    const product = await caller.push('products', [{ externalId: '1', name: '' }]);
    const erased = await caller.erase(['1', '1']);
    expect(await caller.run(wrong.syncId)).toMatchObject({ errors: [{ externalId: '2' }], errorsOmitted: 1 });
    expect(await caller.run(product.syncId)).toMatchObject({ errors: [{ externalId: '1' }] });
    // Its own run does not name it either.
    expect(await caller.run(erased.syncId)).toMatchObject({ failed: 1, errors: [], errorsOmitted: 1 });
  });

  it('do not name a supplier whose id was erased, although no push of this supplier was ever accepted', async () => {
    const caller = world.caller();
    const unaccepted = await caller.push('suppliers', [supplier('Jane', { email: '@' })]);
    const erased = await caller.erase(['Jane', 7]);
    expect(erased.errors.map(({ externalId }) => externalId)).toEqual(['Jane', '']);
    expect(await caller.run(unaccepted.syncId)).toMatchObject({ errors: [], errorsOmitted: 1 });
    expect(await caller.run(erased.syncId)).toMatchObject({
      failed: 2,
      errors: [{ index: 1, externalId: '' }],
      errorsOmitted: 1,
    });
  });

  it('are removed for products also where an error is cut off within the id of the erased supplier', async () => {
    const caller = world.caller();
    const long = 'x'.repeat(501);
    const wrong = { name: long, category: long, country: long, hsCode: long, unit: long, code: long };
    const jane = `Jane ${'e'.repeat(250)}`;
    const { syncId } = await caller.push('products', [
      { externalId: 'P-1', ...wrong, supplierExternalId: jane },
      { externalId: 'P-2', ...wrong, supplierExternalId: `John ${'e'.repeat(250)}` },
    ]);
    expect((await caller.run(syncId)).errors).toMatchObject([
      { error: expect.stringMatching(/Supplier with externalId "Jane e+$/) },
      { error: expect.stringMatching(/Supplier with externalId "John e+$/) },
    ]);
    await caller.erase([jane]);
    expect(await caller.run(syncId)).toMatchObject({ errors: [{ externalId: 'P-2' }], errorsOmitted: 1 });
  });

  it('are removed for products that refer to the erased supplier, and stay for products of another supplier', async () => {
    const caller = world.caller();
    const { syncId } = await caller.push('products', [
      { externalId: 'P-1', name: 'Oak', supplierExternalId: 'Jane' },
      { externalId: 'P-2', name: 'Ash', supplierExternalId: 'Jane 2' },
      { externalId: 'P-3', name: 'Elm', supplierExternalId: 'Jane' },
    ]);
    const bystander = world.caller();
    const other = await bystander.push('products', [
      { externalId: 'P-1', name: 'Oak', supplierExternalId: 'Jane' },
    ]);
    expect((await caller.run(syncId)).errors).toHaveLength(3);
    await caller.erase(['Jane']);
    expect(await caller.run(syncId)).toMatchObject({
      failed: 3,
      errors: [{ externalId: 'P-2' }],
      errorsOmitted: 2,
    });
    expect((await bystander.run(other.syncId)).errors).toHaveLength(1);
  });

  it('are searched without a delay for other requests, also where hundreds of suppliers are erased beside many errors', async () => {
    const caller = world.caller();
    const externalIds = Array.from({ length: 500 }, (_, index) => `S-${index}`);
    await caller.push(
      'suppliers',
      externalIds.map((externalId) => supplier(externalId)),
    );
    const products = externalIds.map((_, index) => ({
      externalId: `P-${index}`,
      name: 'P',
      supplierExternalId: `T-${index}`,
    }));
    const { syncId } = await caller.push('products', products);
    const entries = world.store.collection<Entry>('catalog_journal');
    const entry = await entries.findOne({ _id: syncId }, { projection: { due: 0, ids: 0 } });
    const copies = Array.from({ length: 600 }, (_, index) => ({ ...entry, _id: `${syncId}-${index}` }));
    await entries.insertMany(copies as Entry[]);
    let longestMs = 0;
    const erased = new AbortController();
    const listing = async (): Promise<void> => {
      while (!erased.signal.aborted) {
        const begin = performance.now();
        await caller.list('suppliers', 'limit=1');
        longestMs = Math.max(longestMs, performance.now() - begin);
      }
    };
    const erasing = caller.erase(externalIds).finally(() => erased.abort());
    await listing();
    expect(await erasing).toMatchObject({ erased: 500 });
    expect(longestMs).toBeLessThan(1_000);
  });

  // Setup: the catalog that erases takes no other request any more, so that the push comes to another one: in one catalog it
  // would wait for the erasing.
  it(
    'are removed also where they were stored while the supplier was erased',
    { timeout: 60_000 },
    async () => {
      await using own = await openWorld(inject('engines').mongodb);
      const [arrived, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      let isErasing = false;
      const first = await own.startCatalog({
        log,
        async onStage(stage) {
          if (stage !== 'before-entry' || !isErasing) return;
          arrived.resolve();
          await released.promise;
        },
      });
      using _end = ending(released);
      const caller = own.caller();
      await caller.push('suppliers', [supplier('a')]);
      isErasing = true;
      const erasing = caller.erase(['a']);
      await arrived.promise;
      const closing = first[Symbol.asyncDispose]();
      await own.startCatalog({ log });
      const { syncId } = await caller.push('suppliers', [supplier('a', { email: 'jane at example' })]);
      expect((await caller.run(syncId)).errors).toHaveLength(1);
      released.resolve();
      await erasing;
      await closing;
      expect((await caller.run(syncId)).errors).toEqual([]);
    },
  );
});

it('records that are larger than 16 MB together are planned, archived and erased like others', async () => {
  const caller = world.caller();
  const certifications = Array.from({ length: 100 }, () => '🌲'.repeat(500));
  const externalIds = Array.from({ length: 92 }, (_, index) => `s${index}`);
  const large = externalIds.map((externalId) => supplier(externalId, { certifications }));
  for (let at = 0; at < large.length; at += 23) await caller.push('suppliers', large.slice(at, at + 23));
  const planned = await caller.plan(
    'suppliers',
    externalIds.map((externalId) => supplier(externalId)),
  );
  expect(planned).toMatchObject({ created: 0, updated: 92, unchanged: 92 });
  expect(await caller.archive('suppliers', externalIds)).toMatchObject({ archived: 92, errors: [] });
  expect(await caller.erase(externalIds)).toMatchObject({ erased: 92, errors: [] });
});

it('an archived record is listed as the OpenAPI document describes', async () => {
  const caller = world.caller();
  await caller.push('suppliers', [supplier('a'), supplier('b'), supplier('c')]);
  await caller.archive('suppliers', ['b']);
  await caller.erase(['c']);
  const { answer } = routes.find(({ operationId }) => operationId === 'listSuppliers') ?? {};
  const { nextSince: _since, next: _next, ...page } = await caller.list('suppliers', 'details=true');
  expect(page.entities).toHaveLength(3);
  const { schema } = answer ?? {};
  if (schema === undefined) throw new Error('the listing has a schema');
  expect([...Errors(schema, page)]).toEqual([]);
});

describe('an invalid archiving', () => {
  it.each([
    ['[]', ''],
    ['{}', '/externalIds'],
    ['{"externalIds":"a"}', '/externalIds'],
    ['{"externalIds":["a"],"dryRun":true}', '/dryRun'],
    ['{"externalIds":["a"],"a/b~c":1}', '/a~1b~0c'],
  ])('with the body %s is refused whole', async (body, pointer) => {
    expect(await refusal(body)).toMatchObject({ code: 'invalid_request', errors: [{ pointer }] });
  });

  it('with an unknown key is refused by an error that names this key and the nearest known key', async () => {
    expect(await refusal('{"externalIds":["a"],"except":["b"]}')).toMatchObject({
      errors: [{ detail: 'unknown key "except": the nearest known one is "externalIds"' }],
    });
  });

  it('with five thousand errors is answered soon, with the first errors', async () => {
    const keys = Array.from({ length: 5_000 }, (_, index) => `"k${index}":1`).join();
    const began = performance.now();
    const failure = await refusal(`{"externalIds":[],${keys},"${'x'.repeat(400_000)}":1}`);
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(failure).toMatchObject({ code: 'invalid_request' });
    expect((failure as Failure).errors).toHaveLength(10);
    expect(await refusal(`{"externalIds":[],"${'x'.repeat(400_000)}":1}`)).toMatchObject({
      errors: [{ pointer: `/${'x'.repeat(100)}` }],
    });
  });

  it('of more than 500 ids is refused, and archives nothing', async () => {
    const externalIds = Array.from({ length: 501 }, (_, index) => `a${index}`);
    expect(await refusal(JSON.stringify({ externalIds }))).toMatchObject({
      code: 'too_many_items',
      detail: 'A request takes at most 500 externalIds; this one has 501.',
    });
  });

  it('with one wrong id fails that id alone', async () => {
    const caller = world.caller();
    await caller.push('suppliers', [supplier('a'), supplier('b')]);
    const answer = await caller.archive('suppliers', ['a', 'gone', 'a', '', 7, 'x'.repeat(256), 'b']);
    expect(answer).toMatchObject({ success: false, archived: 2 });
    expect(answer.records.map(({ externalId, status }) => [externalId, status])).toEqual([
      ['a', 'ARCHIVED'],
      ['gone', 'ERROR'],
      ['a', 'ERROR'],
      ['', 'ERROR'],
      ['', 'ERROR'],
      ['', 'ERROR'],
      ['b', 'ARCHIVED'],
    ]);
    expect(answer.errors.map(({ error }) => error)).toEqual([
      'Supplier with externalId "gone" not found',
      '/externalIds/2: "a" stands at /externalIds/0 already',
      '/externalIds/3: externalId is required',
      expect.stringMatching(/^\/externalIds\/4: externalId: expected .+, got 7$/),
      expect.stringMatching(/^\/externalIds\/5: externalId: expected .+ \(256 characters\)$/),
    ]);
    expect(await caller.run(answer.syncId)).toMatchObject({ updated: 2, failed: 5, errorsOmitted: 0 });
  });

  it('of an id of another integration neither shows nor changes that record', async () => {
    const [caller, other] = [world.caller(), world.caller()];
    await other.push('suppliers', [supplier('a')]);
    expect(await caller.archive('suppliers', ['a'])).toMatchObject({ archived: 0, success: false });
    expect(await caller.erase(['a'])).toMatchObject({ erased: 0, success: false });
    expect(statusesOf((await other.list('suppliers')).entities)).toEqual(['a N SYNCED']);
    expect((await caller.list('suppliers')).total).toBe(0);
  });
});
