// Batches, the products that they point at, and the statements that are drafted for them.
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { openWorld, type Caller, type World } from '../../support/sync.ts';

let world: World;
let caller: Caller;

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
  await world.startBatches();
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(() => {
  caller = world.caller();
});

const batch = (externalId: string, fields: object = {}) => ({
  externalId,
  productExternalId: 'p',
  batchNumber: `LOT ${externalId}`,
  ...fields,
});

describe('without catalog', () => {
  it('a push is answered 503 and stores nothing', async () => {
    await expect(caller.push('batches', [batch('a')])).rejects.toMatchObject({ code: 'unavailable' });
    await using _catalog = await world.startCatalog();
    expect(await caller.list('batches')).toMatchObject({ total: 0 });
    expect(await caller.runs()).toMatchObject({ total: 0 });
    expect(await caller.events()).toEqual([]);
  });

  it('a push without references to products succeeds', async () => {
    expect(await caller.push('batches', [])).toMatchObject({ success: true, ddsCreated: [] });
    expect(await caller.push('batches', [{ externalId: 'a' }])).toMatchObject({
      success: false,
      errors: [{ externalId: 'a', error: 'Product externalId is required; Batch number is required' }],
    });
  });

  it('the history of pushes is 503 and not incomplete', async () => {
    await caller.push('batches', []);
    await expect(caller.runs()).rejects.toMatchObject({ code: 'unavailable' });
  });
});

describe('with catalog', () => {
  beforeAll(async () => {
    await world.startCatalog();
  });
  beforeEach(async () => {
    await caller.push('products', [
      { externalId: 'p', name: 'P', hsCode: '44.07 10', country: 'deu' },
      { externalId: 'q', name: 'Q' },
    ]);
  });

  it('a batch needs an existing product of its own integration, by its exact id', async () => {
    const other = world.caller();
    await other.push('products', [{ externalId: 'theirs', name: 'T' }]);
    const answer = await caller.push('batches', [
      batch('a'),
      batch('b', { productExternalId: 'P' }),
      batch('c', { productExternalId: 'theirs' }),
      batch('d', { productExternalId: 'nobody', batchNumber: '' }),
      batch('e', { productExternalId: null }),
      batch('f', { productExternalId: 'say "hi"' }),
    ]);
    expect(answer).toMatchObject({ success: false, created: 1, updated: 0, ddsCreated: [] });
    expect(answer.errors).toEqual([
      { externalId: 'b', error: 'Product with externalId "P" not found. Sync products first.' },
      { externalId: 'c', error: 'Product with externalId "theirs" not found. Sync products first.' },
      {
        externalId: 'd',
        error: 'Batch number is required; Product with externalId "nobody" not found. Sync products first.',
      },
      { externalId: 'e', error: 'Product externalId is required' },
      { externalId: 'f', error: 'Product with externalId "say "hi"" not found. Sync products first.' },
    ]);
    expect(answer.records.map(({ status }) => status)).toEqual([
      'CREATED',
      ...Array.from({ length: 5 }, () => 'ERROR'),
    ]);
  });

  it('a batch may change its product, quantity and dates, which its event names', async () => {
    const dates = { receivedDate: '2026-03-31', expiryDate: '2027-03-31T00:00:00Z' };
    await caller.push('batches', [batch('a', { quantity: 1.5, unit: 'kg', ...dates })]);
    await caller.push('batches', [batch('a', { quantity: 1.5, unit: 'kg', ...dates })]);
    await caller.push('batches', [
      batch('a', {
        productExternalId: 'q',
        quantity: 0,
        unit: null,
        expiryDate: '',
        receivedDate: '2026-04-01',
      }),
    ]);
    const events = await eventually(
      () => caller.events(),
      (all) => all.filter(({ body }) => body.event === 'sync.completed').length === 4,
    );
    expect(
      events.filter(({ body }) => body.event.startsWith('batch.')).map(({ body }) => [body.event, body.data]),
    ).toEqual([
      ['batch.created', { externalId: 'a', internalId: expect.stringMatching(/^bat_/) }],
      [
        'batch.updated',
        {
          externalId: 'a',
          internalId: expect.stringMatching(/^bat_/),
          changedFields: ['productExternalId', 'quantity', 'unit', 'receivedDate', 'expiryDate'],
        },
      ],
    ]);
  });

  it('a push of batches refuses a body without the array batches, and an invalid autoCreateDDS', async () => {
    await expect(caller.pushText('batches', '{"suppliers":[]}')).rejects.toMatchObject({
      code: 'invalid_request',
    });
    await expect(caller.push('batches', [], { autoCreateDDS: 1 })).rejects.toMatchObject({
      code: 'invalid_request',
      errors: [{ pointer: '/autoCreateDDS' }],
    });
  });

  describe('autoCreateDDS', () => {
    it('drafts no statement without autoCreateDDS', async () => {
      expect(await caller.push('batches', [batch('a')], { autoCreateDDS: false })).toMatchObject({
        ddsCreated: [],
      });
      expect(await caller.push('batches', [batch('b')])).toMatchObject({ ddsCreated: [] });
      expect(await caller.dds()).toMatchObject({ total: 0, entities: [] });
      expect((await caller.events()).some(({ body }) => body.event === 'dds.created')).toBe(false);
    });

    it('drafts one statement for each accepted batch, from the batch and its product', async () => {
      const answer = await caller.push(
        'batches',
        [
          batch('a', { quantity: 12.5, unit: 'm3' }),
          batch('b', { productExternalId: 'q' }),
          batch('c', { quantity: -1 }),
        ],
        { autoCreateDDS: true },
      );
      const [a, b] = answer.records;
      expect(answer.ddsCreated).toEqual([
        {
          ddsId: expect.stringMatching(/^dds_[0-9a-f]{32}$/),
          batchExternalId: 'a',
          batchInternalId: a?.internalId,
          status: 'DRAFT',
          hsCode: '44.07 10',
          countryOfProduction: 'DEU',
          quantity: 12.5,
          unit: 'm3',
          referenceNumber: null,
          verificationNumber: null,
          missing: ['referenceNumber'],
        },
        {
          ddsId: expect.stringMatching(/^dds_[0-9a-f]{32}$/),
          batchExternalId: 'b',
          batchInternalId: b?.internalId,
          status: 'DRAFT',
          hsCode: null,
          countryOfProduction: null,
          quantity: null,
          unit: null,
          referenceNumber: null,
          verificationNumber: null,
          missing: ['hsCode', 'countryOfProduction', 'quantity', 'unit', 'referenceNumber'],
        },
      ]);
      const listed = await caller.dds('limit=1');
      expect(listed).toMatchObject({ total: 2, page: 1, limit: 1, entities: [answer.ddsCreated?.[0]] });
      expect((await caller.dds(listed.next)).entities).toEqual([answer.ddsCreated?.[1]]);
      const events = await eventually(
        () => caller.events(),
        (all) => all.filter(({ body }) => body.event === 'sync.completed').length === 2,
      );
      expect(events.flatMap(({ body }) => (body.event === 'dds.created' ? [body.data] : []))).toEqual(
        answer.ddsCreated,
      );
      expect(events.at(-1)?.body.event).toBe('sync.completed');
    });

    it('never drafts a second statement, and drafts one for an existing batch', async () => {
      await caller.push('batches', [batch('a')]);
      const first = await caller.push('batches', [batch('a', { quantity: 1 }), batch('b')], {
        autoCreateDDS: true,
      });
      expect(first.ddsCreated?.map(({ batchExternalId, quantity }) => [batchExternalId, quantity])).toEqual([
        ['a', 1],
        ['b', null],
      ]);
      const again = await caller.push('batches', [batch('a', { quantity: 2 }), batch('b')], {
        autoCreateDDS: true,
      });
      expect(again).toMatchObject({ success: true, updated: 2, ddsCreated: [] });
      expect((await caller.dds()).entities).toEqual(first.ddsCreated);
    });

    it('drafts once for each batch, from the product and the batch that are stored after the push', async () => {
      await caller.push('products', [{ externalId: 'p', name: 'P', hsCode: '0901', country: null }]);
      await caller.push('batches', [batch('a', { unit: 'kg' })]);
      const { ddsCreated } = await caller.push(
        'batches',
        [batch('a', { quantity: 1 }), batch('a', { quantity: 3 })],
        { autoCreateDDS: true },
      );
      expect(ddsCreated).toMatchObject([
        { hsCode: '0901', countryOfProduction: null, quantity: 3, unit: 'kg' },
      ]);
    });

    it('statements are listed since a time', async () => {
      await caller.push('batches', [batch('a')], { autoCreateDDS: true });
      const { nextSince = '' } = await caller.dds();
      await caller.push('batches', [batch('b')], { autoCreateDDS: true });
      const { entities } = await caller.dds(`since=${nextSince}`);
      expect(entities.map(({ batchExternalId }) => batchExternalId)).toEqual(['b']);
    });
  });
});
