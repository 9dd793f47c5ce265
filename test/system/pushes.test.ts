// Every row of the tables about pushes, listings and drafted statements, on the whole way: what is right is taken,
// its wrong twin is refused with its own words, and a bystander's records stay what they were.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Stack } from '@integration-sync/dev/stack';
import { openClient, startTestStack, type Answer, type Client } from '../support/stack.ts';

let stack: Stack;
let bystander: Client;
let bystanderBefore: unknown;

const kinds = ['suppliers', 'products', 'batches'] as const;
type Kind = (typeof kinds)[number];

const right: Record<Kind, Record<string, unknown>> = {
  suppliers: { externalId: 'S-1', name: 'Nordic Timber AB' },
  products: { externalId: 'P-1', name: 'Oak plank' },
  batches: { externalId: 'B-1', productExternalId: 'P-1', batchNumber: 'LOT 1' },
};

const pushTo = (
  client: Client,
  kind: Kind,
  items: readonly unknown[],
  beside: object = {},
): Promise<Answer> => client.post(`/${kind}`, { [kind]: items, ...beside });

const everythingOf = async (client: Client): Promise<unknown> =>
  Promise.all([...kinds, 'dds', 'sync-runs'].map(async (listed) => (await client.get(`/${listed}`)).body));

/** An integration with one record of each kind. */
async function openFilled(): Promise<Client> {
  const client = openClient(stack);
  for (const kind of kinds) {
    expect((await pushTo(client, kind, [right[kind]])).body).toMatchObject({ success: true, created: 1 });
  }
  return client;
}

beforeAll(async () => {
  stack = await startTestStack();
  bystander = await openFilled();
  bystanderBefore = await everythingOf(bystander);
});
afterAll(() => stack[Symbol.asyncDispose]());

const long = (length: number): string => 'x'.repeat(length);

describe('the fields of an item', () => {
  const cut = (length: number): string => `"${long(40)}…" (${length} characters)`;
  const identifier = 'a string of 1 to 255 characters that is not blank and has no control characters';
  const text = 'a string of at most 500 characters, without NUL or lone surrogates';
  const alpha2 = 'an assigned ISO 3166-1 alpha-2 country code, such as "DE"';
  const either = 'an assigned ISO 3166-1 country code of two or three letters, such as "DE" or "DEU"';
  const digits = '2 to 12 digits, which dots, spaces and hyphens may separate';
  const texts =
    'an array of at most 100 strings of at most 500 characters each, without NUL or lone surrogates';
  const amount = 'a finite number of 0 or more';
  const date = 'a calendar day such as "2026-03-31", or an RFC 3339 date-time with Z or an offset';
  const address = 'an e-mail address of at most 500 characters, such as "anna@example.com"';

  // kind, field, a value that is right, one that is wrong, and what is said of it
  const rows: [Kind, string, unknown, unknown, string][] = [
    ['suppliers', 'externalId', long(255), long(256), `externalId: expected ${identifier}, got ${cut(256)}`],
    ['suppliers', 'externalId', ' a ', '  ', 'externalId is required'],
    [
      'suppliers',
      'externalId',
      'é',
      'a\u0007',
      String.raw`externalId: expected ${identifier}, got "a\u0007"`,
    ],
    ['suppliers', 'externalId', '🌲', '\ud83c', String.raw`externalId: expected ${identifier}, got "\ud83c"`],
    ['products', 'externalId', '0', 0, `externalId: expected ${identifier}, got 0`],
    ['batches', 'externalId', 'b', null, 'externalId is required'],
    ['suppliers', 'name', long(500), long(501), `name: expected ${text}, got ${cut(501)}`],
    ['suppliers', 'name', '0', '', 'Supplier name is required'],
    ['products', 'name', 'N', ' ', 'Product name is required'],
    ['batches', 'batchNumber', '0', null, 'Batch number is required'],
    ['batches', 'productExternalId', 'P-1', '', 'Product externalId is required'],
    [
      'batches',
      'productExternalId',
      'P-1',
      'p-1',
      'Product with externalId "p-1" not found. Sync products first.',
    ],
    [
      'products',
      'supplierExternalId',
      'S-1',
      'S-2',
      'Supplier with externalId "S-2" not found. Sync suppliers first.',
    ],
    ['products', 'supplierExternalId', '', 5, `supplierExternalId: expected ${identifier}, got 5`],
    ['suppliers', 'code', long(500), long(501), `code: expected ${text}, got ${cut(501)}`],
    ['suppliers', 'phone', '', ['1'], `phone: expected ${text}, got an array`],
    [
      'suppliers',
      'contactPerson',
      null,
      'a\u0000',
      String.raw`contactPerson: expected ${text}, got "a\u0000"`,
    ],
    [
      'suppliers',
      'address',
      long(1000),
      long(1001),
      `address: expected ${text.replace('500', '1000')}, got ${cut(1001)}`,
    ],
    ['suppliers', 'country', 'dE', 'UK', `country: expected ${alpha2}, got "UK" (use "GB")`],
    ['suppliers', 'country', 'GB', 'GBR', `country: expected ${alpha2}, got "GBR" (use "GB")`],
    ['products', 'country', 'gbr', 'XX', `country: expected ${either}, got "XX"`],
    ['products', 'hsCode', '44', '4', `hsCode: expected ${digits}, got "4"`],
    [
      'products',
      'hsCode',
      '4407.91-00 00',
      '44079100000000',
      `hsCode: expected ${digits}, got "44079100000000"`,
    ],
    ['suppliers', 'certifications', [], 'FSC', `certifications: expected ${texts}, got "FSC"`],
    [
      'suppliers',
      'certifications',
      ['FSC'],
      ['FSC', 5],
      `certifications: expected ${texts}, got 5 at index 1`,
    ],
    ['suppliers', 'isEuOrigin', false, 'true', 'isEuOrigin: expected true or false, got "true"'],
    ['suppliers', 'isEuOrigin', null, '', 'isEuOrigin: expected true or false, got ""'],
    ['batches', 'quantity', 0, '5', `quantity: expected ${amount}, got "5"`],
    ['batches', 'quantity', 1e-7, -1e-7, `quantity: expected ${amount}, got -1e-7`],
    [
      'batches',
      'unit',
      long(32),
      long(33),
      `unit: expected ${text.replace('500', '32')}, got "${long(33)}" (33 characters)`,
    ],
    [
      'batches',
      'receivedDate',
      '2024-02-29',
      '2024-02-30',
      `receivedDate: expected ${date}, got "2024-02-30"`,
    ],
    [
      'batches',
      'expiryDate',
      '2026-03-31T09:26:53.589+02:00',
      '2026-03-31T09:26:60Z',
      `expiryDate: expected ${date}, got "2026-03-31T09:26:60Z"`,
    ],
    ['batches', 'expiryDate', '', 20260331, `expiryDate: expected ${date}, got 20260331`],
    ['suppliers', 'email', 'anna@example.com', 'anna', `email: expected ${address}, got "anna"`],
  ];

  const named = rows.map(([kind, field, good, bad, error]) => ({ kind, field, good, bad, error }));
  it.each(named)('$kind.$field: $error', async ({ kind, field, good, bad, error }) => {
    const client = openClient(stack);
    await pushTo(client, 'suppliers', [right.suppliers]);
    await pushTo(client, 'products', [right.products]);
    const taken = await pushTo(client, kind, [{ ...right[kind], externalId: 'x', [field]: good }]);
    expect(taken.body).toMatchObject({ success: true, created: 1, errors: [] });
    const before = (await client.get(`/${kind}`)).body;

    const item = { ...right[kind], externalId: 'y', [field]: bad };
    const neighbour = { ...right[kind], externalId: 'x', [field]: field === 'externalId' ? 'x' : good };
    const refused = await pushTo(client, kind, [item, neighbour]);
    const externalId = field === 'externalId' ? '' : 'y';
    expect(refused).toMatchObject({
      status: 200,
      body: {
        success: false,
        errors: [{ externalId, error }],
        records: [
          { externalId, internalId: '', status: 'ERROR' },
          { status: expect.stringMatching(/CREATED|UPDATED/) },
        ],
      },
    });
    const after = (await client.get(`/${kind}`)).body;
    expect(after['total']).toBe(Number(before['total']) + Number(refused.body['created']));
  });

  it('that is not a JSON number is refused with its type', async () => {
    const client = await openFilled();
    const response = await fetch(`${stack.gateway}/api/v1/integration/batches`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${stack.token({ integration: client.integration })}`,
        'content-type': 'application/json',
      },
      body: '{"batches":[{"externalId":"x","productExternalId":"P-1","batchNumber":"B","quantity":1e400}]}',
    });
    expect(await response.json()).toMatchObject({
      errors: [{ externalId: 'x', error: `quantity: expected ${amount}, got Infinity` }],
    });
  });
});

const idOf = async (client: Client): Promise<unknown> =>
  ((await client.get('/suppliers')).body['entities'] as { internalId: string }[])[0]?.internalId;

describe('an item that is pushed again', () => {
  it('keeps absent fields, clears null, replaces arrays, ignores unknown fields, and announces only a change', async () => {
    const client = openClient(stack);
    const full = {
      ...right.suppliers,
      code: '1',
      phone: '2',
      certifications: ['a'],
      isEuOrigin: true,
      colour: 'red',
    };
    await pushTo(client, 'suppliers', [full]);
    const steps: [object, number][] = [
      [right.suppliers, 1],
      [{ ...full, colour: 'blue' }, 1],
      [{ ...right.suppliers, phone: null }, 0],
      [{ ...right.suppliers, phone: '' }, 1],
      [{ ...right.suppliers, certifications: ['a', 'b'] }, 0],
      [{ ...right.suppliers, certifications: ['b', 'a'] }, 0],
    ];
    for (const [item, unchanged] of steps) {
      const answer = await pushTo(client, 'suppliers', [item]);
      expect(answer.body).toMatchObject({ success: true, created: 0, updated: 1 });
      const { entities } = (await client.get('/sync-runs?limit=1')).body as { entities: object[] };
      expect(entities).toMatchObject([{ syncId: answer.headers.get('x-sync-id'), updated: 1, unchanged }]);
    }
  });

  it('twice in one push makes one record, created and then updated', async () => {
    const client = openClient(stack);
    const { body } = await pushTo(client, 'products', [right.products, { ...right.products, name: 'Ash' }]);
    const [first, second] = body['records'] as { internalId: string; status: string }[];
    expect([first?.status, second?.status]).toEqual(['CREATED', 'UPDATED']);
    expect(second?.internalId).toBe(first?.internalId);
    expect(body).toMatchObject({ created: 1, updated: 1 });
    expect((await client.get('/products')).body).toMatchObject({ total: 1, entities: [{ name: 'Ash' }] });
  });

  it('by another integration makes another record', async () => {
    const [one, other] = [await openFilled(), await openFilled()];
    expect(await idOf(one)).not.toBe(await idOf(other));
    await pushTo(one, 'suppliers', [{ ...right.suppliers, name: 'Mine' }]);
    expect((await other.get('/suppliers')).body).toMatchObject({ entities: [{ name: 'Nordic Timber AB' }] });
  });

  it('keeps the internal id of its record through every change', async () => {
    const client = openClient(stack);
    const seen = new Set<unknown>();
    for (const name of ['A', 'B', 'B', 'C']) {
      const { body } = await pushTo(client, 'suppliers', [{ ...right.suppliers, name }]);
      seen.add((body['records'] as { internalId: string }[])[0]?.internalId);
    }
    expect(seen.size).toBe(1);
  });
});

describe('listings', () => {
  it('clamp the limit, echo page and limit, link pages, and end after the last record', async () => {
    const client = openClient(stack);
    const items = Array.from({ length: 130 }, (_, index) => ({ externalId: `s${index}`, name: 'N' }));
    await pushTo(client, 'suppliers', items);
    const clamped = await client.get('/suppliers?limit=101');
    expect(clamped.body).toMatchObject({ total: 130, page: 1, limit: 100 });
    expect(clamped.body['entities']).toHaveLength(100);
    const past = await client.get('/suppliers?page=99');
    expect(past).toMatchObject({ status: 200, body: { entities: [], total: 130, page: 99, limit: 50 } });
    expect(past.headers.has('link')).toBe(false);

    const seen: unknown[] = [];
    for (let path: string | undefined = '/suppliers?limit=60'; path !== undefined;) {
      const { status, headers, body } = await client.get(path);
      expect(status).toBe(200);
      expect(body).toMatchObject({ total: 130, limit: 60, page: expect.any(Number) });
      expect(headers.get('x-next-since')).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      seen.push(...(body['entities'] as { externalId: string }[]).map(({ externalId }) => externalId));
      path = /^<(\/api\/v1\/integration\/suppliers\?[^>]+)>; rel="next"$/.exec(
        headers.get('link') ?? '',
      )?.[1];
    }
    expect(seen).toEqual(items.map(({ externalId }) => externalId));
  });

  it.each([
    'page=0',
    'page=1.5',
    'limit=0',
    'limit=-1',
    'limit=ten',
    'limit=1&limit=2',
    'since=2024-02-30',
    'since=2026-03-31T10:00:00',
    'since=now',
    'cursor=AAAA',
    'cursor=',
  ])('refuse the query %s', async (query) => {
    for (const listed of [...kinds, 'dds']) {
      expect(await bystander.get(`/${listed}?${query}`)).toMatchObject({
        status: 400,
        body: { code: 'invalid_request', errors: [{ pointer: query.split('=')[0] }] },
      });
    }
  });

  it('show records synced after the time in since, and return the time for the next poll', async () => {
    const client = await openFilled();
    for (const kind of kinds) {
      const first = await client.get(`/${kind}`);
      const next = first.headers.get('x-next-since') ?? '';
      const nothing = await client.get(`/${kind}?since=${next}`);
      expect(nothing.body).toMatchObject({ entities: [], total: 0 });
      await pushTo(client, kind, [right[kind]]);
      const again = await client.get(`/${kind}?since=${nothing.headers.get('x-next-since')}`);
      expect(again.body).toMatchObject({ total: 1, entities: [{ externalId: right[kind]['externalId'] }] });
      const [entity] = again.body['entities'] as { lastSyncedAt: string }[];
      const lastSyncedAt = entity?.lastSyncedAt ?? '';
      expect((await client.get(`/${kind}?since=${lastSyncedAt}`)).body).toMatchObject({ total: 0 });
      expect((await client.get(`/${kind}?since=${lastSyncedAt.slice(0, 10)}`)).body).toMatchObject({
        total: 1,
      });
    }
  });
});

describe('autoCreateDDS', () => {
  it('drafts one statement per accepted batch, once, and lists it', async () => {
    const client = openClient(stack);
    await pushTo(client, 'products', [{ ...right.products, hsCode: '4407.91', country: 'se' }]);
    const batches = [
      { ...right.batches, quantity: 1250, unit: 'kg' },
      { ...right.batches, externalId: 'B-2', productExternalId: 'nobody' },
    ];
    expect((await pushTo(client, 'batches', batches, { autoCreateDDS: false })).body).toMatchObject({
      ddsCreated: [],
    });
    const { body } = await pushTo(client, 'batches', batches, { autoCreateDDS: true });
    const [record] = body['records'] as { internalId: string }[];
    const entry = {
      ddsId: expect.stringMatching(/^dds_[0-9a-f]{32}$/),
      batchExternalId: 'B-1',
      batchInternalId: record?.internalId,
      status: 'DRAFT',
      hsCode: '4407.91',
      countryOfProduction: 'SE',
      quantity: 1250,
      unit: 'kg',
      referenceNumber: null,
      verificationNumber: null,
      missing: expect.arrayContaining(['referenceNumber']),
    };
    expect(body).toMatchObject({ created: 0, updated: 1 });
    expect(body['ddsCreated']).toEqual([entry]);
    expect((await pushTo(client, 'batches', batches, { autoCreateDDS: true })).body).toMatchObject({
      ddsCreated: [],
    });
    expect((await client.get('/dds')).body).toEqual({ entities: [entry], total: 1, page: 1, limit: 50 });
  });

  it.each([null, 'true', 1])('refuses the value %j', async (autoCreateDDS) => {
    const client = await openFilled();
    const before = await everythingOf(client);
    expect(await pushTo(client, 'batches', [right.batches], { autoCreateDDS })).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', errors: [{ pointer: '/autoCreateDDS' }] },
    });
    expect(await everythingOf(client)).toEqual(before);
  });
});

describe('the history of pushes', () => {
  it('has exactly the pushes that were answered 200, newest first', async () => {
    const client = openClient(stack);
    const answers = [
      await pushTo(client, 'suppliers', [right.suppliers, {}]),
      await pushTo(client, 'batches', []),
      await pushTo(client, 'products', [{}]),
    ];
    expect((await client.post('/suppliers', { suppliers: 5 })).status).toBe(400);
    const { body } = await client.get('/sync-runs');
    expect(body).toMatchObject({ total: 3, page: 1, limit: 50 });
    const entities = body['entities'] as Record<string, unknown>[];
    expect(entities.map(({ syncId }) => syncId)).toEqual(
      answers.map(({ headers }) => headers.get('x-sync-id')).toReversed(),
    );
    expect(entities).toMatchObject([
      { entityType: 'product', state: 'completed', created: 0, updated: 0, unchanged: 0, failed: 1 },
      { entityType: 'batch', state: 'completed', created: 0, updated: 0, unchanged: 0, failed: 0 },
      { entityType: 'supplier', state: 'completed', created: 1, updated: 0, unchanged: 0, failed: 1 },
    ]);
    expect(Object.keys(entities[0] ?? {})).toEqual([
      'syncId',
      'entityType',
      'action',
      'state',
      'created',
      'updated',
      'unchanged',
      'failed',
      'startedAt',
      'completedAt',
      'client',
    ]);
  });
});

it('pushes of one integration leave the records of another integration unchanged', async () => {
  expect(await everythingOf(bystander)).toEqual(bystanderBefore);
});
