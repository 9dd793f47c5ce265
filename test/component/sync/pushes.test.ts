// Pushes of suppliers and products as catalog answers them, and what they leave: records, events, history.
import { afterAll, beforeAll, describe, expect, inject, it, onTestFailed } from 'vitest';
import { watermarkKey } from '../../../shared/sync/src/watermarks.ts';
import { eventually } from '../../support/eventually.ts';
import { openWorld, type Caller, type SeenEvent, type World } from '../../support/sync.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
  await world.startCatalog();
});
afterAll(() => world[Symbol.asyncDispose]());

/** The events of all pushes that the caller has an answer to. */
const eventsAfter = (caller: Caller, pushes: number): Promise<SeenEvent[]> =>
  eventually(
    () => caller.events(),
    (events) => events.filter(({ body }) => body.event === 'sync.completed').length === pushes,
  );

const told = (events: readonly SeenEvent[]) => events.map(({ body }) => [body.event, body.data]);

const supplier = (externalId: string, fields: object = {}) => ({
  externalId,
  name: `Name ${externalId}`,
  ...fields,
});

describe('a push', () => {
  it('creates new records, updates existing ones, and counts each', async () => {
    const caller = world.caller();
    const first = await caller.push('suppliers', [supplier('a'), supplier('b')]);
    expect(first).toEqual({
      success: true,
      created: 2,
      updated: 0,
      errors: [],
      records: [
        { externalId: 'a', internalId: expect.stringMatching(/^sup_[0-9a-f]{32}$/), status: 'CREATED' },
        { externalId: 'b', internalId: expect.stringMatching(/^sup_[0-9a-f]{32}$/), status: 'CREATED' },
      ],
      syncId: expect.stringMatching(/^sync_[0-9a-f]{32}$/),
    });
    const second = await caller.push('suppliers', [
      supplier('c'),
      supplier('b', { name: 'Other' }),
      supplier('a'),
    ]);
    expect(second).toMatchObject({ success: true, created: 1, updated: 2, errors: [] });
    expect(second.records.map(({ externalId, status }) => [externalId, status])).toEqual([
      ['c', 'CREATED'],
      ['b', 'UPDATED'],
      ['a', 'UPDATED'],
    ]);
    expect(second.records[2]?.internalId).toBe(first.records[0]?.internalId);
    expect(second.syncId).not.toBe(first.syncId);

    const [a, b, c] = [first.records[0], first.records[1], second.records[0]];
    expect(told(await eventsAfter(caller, 2))).toEqual([
      ['supplier.created', { externalId: 'a', internalId: a?.internalId }],
      ['supplier.created', { externalId: 'b', internalId: b?.internalId }],
      [
        'sync.completed',
        expect.objectContaining({ syncId: first.syncId, created: 2, updated: 0, failed: 0 }),
      ],
      ['supplier.created', { externalId: 'c', internalId: c?.internalId }],
      ['supplier.updated', { externalId: 'b', internalId: b?.internalId, changedFields: ['name'] }],
      [
        'sync.completed',
        expect.objectContaining({ syncId: second.syncId, created: 1, updated: 2, failed: 0 }),
      ],
    ]);
  });

  it('fails only wrong items, and lists these failures in the pushed order', async () => {
    const caller = world.caller();
    const answer = await caller.push('suppliers', [
      supplier('a'),
      { externalId: 'b' },
      5,
      supplier('c', { country: 'UK', email: 'nobody' }),
      { name: 'N' },
      supplier('d'),
    ]);
    expect(answer).toMatchObject({ success: false, created: 2, updated: 0 });
    expect(answer.errors).toEqual([
      { externalId: 'b', error: 'Supplier name is required' },
      { externalId: '', error: 'expected an object, got 5' },
      {
        externalId: 'c',
        error:
          'country: expected an assigned ISO 3166-1 alpha-2 country code, such as "DE", got "UK" (use "GB"); ' +
          'email: expected an e-mail address of at most 500 characters, such as "anna@example.com", got "nobody"',
      },
      { externalId: '', error: 'externalId is required' },
    ]);
    expect(
      answer.records.map(({ externalId, internalId, status }) => [externalId, internalId !== '', status]),
    ).toEqual([
      ['a', true, 'CREATED'],
      ['b', false, 'ERROR'],
      ['', false, 'ERROR'],
      ['c', false, 'ERROR'],
      ['', false, 'ERROR'],
      ['d', true, 'CREATED'],
    ]);
    const events = await eventsAfter(caller, 1);
    expect(events.map(({ body }) => body.event)).toEqual([
      'supplier.created',
      'supplier.created',
      'sync.completed',
    ]);
    expect(events.at(-1)?.body.data).toMatchObject({ created: 2, updated: 0, failed: 4 });
    const { entities } = await caller.list('suppliers');
    expect(entities.map(({ externalId }) => externalId)).toEqual(['a', 'd']);
  });

  it('that is empty, or fails in every item, is in the history and is announced', async () => {
    const caller = world.caller();
    const empty = await caller.push('suppliers', []);
    expect(empty).toMatchObject({ success: true, created: 0, updated: 0, errors: [], records: [] });
    const failed = await caller.push('suppliers', [{}]);
    expect(failed).toMatchObject({ success: false, created: 0, updated: 0 });
    expect(told(await eventsAfter(caller, 2))).toEqual([
      [
        'sync.completed',
        expect.objectContaining({ syncId: empty.syncId, created: 0, updated: 0, failed: 0 }),
      ],
      [
        'sync.completed',
        expect.objectContaining({ syncId: failed.syncId, created: 0, updated: 0, failed: 1 }),
      ],
    ]);
  });

  it('applies two items of one externalId in their order, as one record', async () => {
    const caller = world.caller();
    const answer = await caller.push('suppliers', [
      supplier('a', { code: '1' }),
      supplier('b'),
      supplier('a', { name: 'Last', code: null }),
      supplier('a', { name: 'Last' }),
    ]);
    expect(answer).toMatchObject({ created: 2, updated: 2 });
    expect(answer.records.map(({ status }) => status)).toEqual(['CREATED', 'CREATED', 'UPDATED', 'UPDATED']);
    expect(new Set(answer.records.map(({ internalId }) => internalId)).size).toBe(2);
    const { entities, total } = await caller.list('suppliers');
    expect([entities.map(({ name }) => name), total]).toEqual([['Last', 'Name b'], 2]);
    const events = await eventsAfter(caller, 1);
    expect(events.map(({ body }) => body.event)).toEqual([
      'supplier.created',
      'supplier.created',
      'sync.completed',
    ]);
    const again = await caller.push('suppliers', [
      supplier('a', { name: 'First' }),
      supplier('a', { name: 'Last' }),
    ]);
    expect(again).toMatchObject({ created: 0, updated: 2 });
    // A change there and back is no change.
    expect((await eventsAfter(caller, 2)).slice(3).map(({ body }) => body.event)).toEqual(['sync.completed']);
  });

  it('accepts a valid item beside a wrong item with the same externalId', async () => {
    const caller = world.caller();
    const answer = await caller.push('suppliers', [supplier('a'), { externalId: 'a' }]);
    expect(answer).toMatchObject({ success: false, created: 1, updated: 0 });
    expect(answer.errors).toEqual([{ externalId: 'a', error: 'Supplier name is required' }]);
    expect(answer.records.map(({ status }) => status)).toEqual(['CREATED', 'ERROR']);
  });

  it('keeps absent fields, clears null fields, and announces changed fields', async () => {
    const caller = world.caller();
    await caller.push('suppliers', [
      supplier('a', { country: 'se', phone: '1', certifications: ['x'], isEuOrigin: true }),
    ]);
    await caller.push('suppliers', [supplier('a')]);
    await caller.push('suppliers', [supplier('a', { country: 'SE', certifications: ['x'] })]);
    await caller.push('suppliers', [
      supplier('a', { isEuOrigin: false, country: null, phone: '', certifications: [] }),
    ]);
    const events = await eventsAfter(caller, 4);
    expect(
      events.filter(({ body }) => body.event === 'supplier.updated').map(({ body }) => body.data),
    ).toEqual([
      {
        externalId: 'a',
        internalId: expect.any(String),
        changedFields: ['country', 'phone', 'certifications', 'isEuOrigin'],
      },
    ]);
  });

  it('that changes nothing moves lastSyncedAt and announces no record', async () => {
    const caller = world.caller();
    await caller.push('suppliers', [supplier('a'), supplier('b')]);
    const before = await caller.list('suppliers');
    const again = await caller.push('suppliers', [supplier('a')]);
    expect(again).toMatchObject({ success: true, created: 0, updated: 1 });
    const after = await caller.list('suppliers');
    const times = [before, after].map(({ entities }) =>
      entities.map(({ lastSyncedAt }) => Date.parse(lastSyncedAt)),
    );
    expect(times[1]?.[0]).toBeGreaterThan(times[0]?.[0] ?? Number.NaN);
    expect(times[1]?.[1]).toBe(times[0]?.[1]);
    expect((await eventsAfter(caller, 2)).slice(3).map(({ body }) => body.event)).toEqual(['sync.completed']);
  });

  it('sees and changes its own integration only', async () => {
    const [one, other] = [world.caller(), world.caller()];
    const [first] = (await one.push('suppliers', [supplier('a', { name: 'Mine' })])).records;
    const [second] = (await other.push('suppliers', [supplier('a', { name: 'Theirs' })])).records;
    expect(second?.status).toBe('CREATED');
    expect(second?.internalId).not.toBe(first?.internalId);
    expect((await one.list('suppliers')).entities.map(({ name }) => name)).toEqual(['Mine']);
    expect(
      (await one.events()).every(({ subject }) => subject.startsWith(`events.${one.integration}.`)),
    ).toBe(true);
  });

  it.each(['__proto__', 'constructor', 'toString'])(
    'accepts %s as the name of an integration',
    async (name) => {
      const caller = world.caller(name);
      onTestFailed(async () => {
        await world.store.database.collection('suppliers').deleteMany({ integration: name });
        await world.store
          .collection<{ _id: string }>('catalog_heads')
          .deleteOne({ _id: watermarkKey(name, 'suppliers') });
      });
      const answer = await caller.push('suppliers', [
        supplier('__proto__'),
        supplier('constructor'),
        supplier('$where'),
      ]);
      expect(answer).toMatchObject({ created: 3, updated: 0, errors: [] });
      const { entities, total } = await caller.list('suppliers');
      expect([entities.map(({ externalId }) => externalId), total]).toEqual([
        ['__proto__', 'constructor', '$where'],
        3,
      ]);
    },
  );

  it('stores text that looks like an operator, a path or a template unchanged', async () => {
    const caller = world.caller();
    const odd = {
      $set: { name: 'x' },
      'fields.name': 'y',
      $where: '1',
      name: '$$ROOT',
      code: '{{code}}',
      address: '$name',
    };
    const answer = await caller.pushText(
      'suppliers',
      `{"suppliers":[{"externalId":"$externalId","__proto__":{"name":"z"},${JSON.stringify(odd).slice(1)}]}`,
    );
    expect(answer).toMatchObject({ created: 1, errors: [] });
    const again = await caller.push('suppliers', [
      { externalId: '$externalId', name: '$name', address: '$fields.code' },
    ]);
    expect(again).toMatchObject({ updated: 1 });
    const stored = await world.store
      .collection<{ _id: string; fields: object }>('suppliers')
      .findOne({ _id: answer.records[0]?.internalId ?? '' });
    expect(stored?.fields).toEqual({ name: '$name', code: '{{code}}', address: '$fields.code' });
  });

  it('distinguishes ids by every code unit, and does not trim ids', async () => {
    const caller = world.caller();
    const ids = ['a', 'A', ' a', 'a ', 'é', 'e\u0301', '🌲', 'a'.repeat(255)];
    const answer = await caller.push(
      'suppliers',
      ids.map((id) => supplier(id)),
    );
    expect(answer).toMatchObject({ created: ids.length, errors: [] });
    expect((await caller.list('suppliers')).entities.map(({ externalId }) => externalId)).toEqual(ids);
  });

  it('accepts 500 items of 5 MiB in all', async () => {
    const caller = world.caller();
    const certifications = Array.from({ length: 20 }, () => 'x'.repeat(500));
    const items = Array.from({ length: 500 }, (_, index) => supplier(`s${index}`, { certifications }));
    const answer = await caller.push('suppliers', items);
    expect(answer).toMatchObject({ success: true, created: 500 });
    expect(await caller.push('suppliers', items)).toMatchObject({ success: true, created: 0, updated: 500 });
    expect(await eventsAfter(caller, 2)).toHaveLength(502);
  });

  it('survives one string of 4 MiB in an item, and eight levels of nesting in another item', async () => {
    const caller = world.caller();
    // The body, its array and the item are three levels.
    const deep = '['.repeat(5) + ']'.repeat(5);
    const answer = await caller.pushText(
      'suppliers',
      `{"suppliers":[{"externalId":"a","name":"${'x'.repeat(4 * 1024 * 1024)}"},{"externalId":"b","name":${deep}},` +
        `{"externalId":"c","name":"C","colour":${deep}},${deep}]}`,
    );
    expect(answer.records.map(({ status }) => status)).toEqual(['ERROR', 'ERROR', 'CREATED', 'ERROR']);
    expect(
      answer.errors.map(({ error }) => error.slice(0, 200)).map((error) => error.split(', got ')[1]),
    ).toEqual([`"${'x'.repeat(40)}…" (${4 * 1024 * 1024} characters)`, 'an array', 'an array']);
  });

  it.each([
    ['{"suppliers":[', 'invalid_json'],
    ['[]', 'invalid_request'],
    ['{"suppliers":{}}', 'invalid_request'],
    [
      `{"suppliers":[{"externalId":"a","name":"N","colour":${'['.repeat(6)}${']'.repeat(6)}}]}`,
      'invalid_request',
    ],
    [
      `{"suppliers":[{"externalId":"a","name":"N","colour":${'['.repeat(100_000)}${']'.repeat(100_000)}}]}`,
      'invalid_request',
    ],
    [JSON.stringify({ suppliers: Array.from({ length: 501 }, () => supplier('a')) }), 'too_many_items'],
  ])('that is refused as a whole stores nothing: %.20s', async (body, code) => {
    const caller = world.caller();
    await expect(caller.pushText('suppliers', body)).rejects.toMatchObject({ code });
    expect(await caller.list('suppliers')).toMatchObject({ total: 0, entities: [] });
    expect(await caller.events()).toEqual([]);
  });
});

const product = (externalId: string, supplierExternalId?: unknown) => ({
  externalId,
  name: 'P',
  supplierExternalId,
});

describe('a product', () => {
  it('may reference an existing supplier of its own integration, and no other', async () => {
    const [caller, other] = [world.caller(), world.caller()];
    await caller.push('suppliers', [supplier('s 1')]);
    await other.push('suppliers', [supplier('theirs')]);
    const answer = await caller.push('products', [
      product('a', 's 1'),
      product('b', 'S 1'),
      product('c', 'theirs'),
      product('d'),
      product('e', null),
      product('f', ''),
      product('g', 7),
      { externalId: 'h', supplierExternalId: 'nobody' },
    ]);
    expect(answer.errors).toEqual([
      { externalId: 'b', error: 'Supplier with externalId "S 1" not found. Sync suppliers first.' },
      { externalId: 'c', error: 'Supplier with externalId "theirs" not found. Sync suppliers first.' },
      {
        externalId: 'g',
        error:
          'supplierExternalId: expected a string of 1 to 255 characters that is not blank and has no control characters, got 7',
      },
      {
        externalId: 'h',
        error: 'Product name is required; Supplier with externalId "nobody" not found. Sync suppliers first.',
      },
    ]);
    expect(answer).toMatchObject({ created: 4, updated: 0 });
  });

  it('keeps, changes or loses its supplier as a later push says', async () => {
    const caller = world.caller();
    await caller.push('suppliers', [supplier('s1'), supplier('s2')]);
    await caller.push('products', [product('p', 's1')]);
    await caller.push('products', [product('p')]);
    await caller.push('products', [product('p', 's2')]);
    await caller.push('products', [product('p', null)]);
    const events = (await eventsAfter(caller, 5)).filter(({ body }) => body.event === 'product.updated');
    expect(events.map(({ body }) => body.data)).toEqual([
      expect.objectContaining({ changedFields: ['supplierExternalId'] }),
      expect.objectContaining({ changedFields: ['supplierExternalId'] }),
    ]);
  });
});
