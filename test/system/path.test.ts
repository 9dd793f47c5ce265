import { createHmac } from 'node:crypto';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Stack } from '@integration-sync/dev/stack';
import { openReceiver } from '../support/receiver.ts';
import { openClient, startTestStack } from '../support/stack.ts';

let stack: Stack;

beforeAll(async () => {
  stack = await startTestStack({ replicas: { catalog: 2, webhooks: 2 } });
});
afterAll(async () => stack[Symbol.asyncDispose]());

// Setup: an integrator with a new token, and another one whose records must not change.
// Timeline: webhook, supplier, product, batch with a draft, listings, the same again, a change.
// What this proves: the documented flow works from outside, to the key, through every service, and no other
// integration sees anything of it.
it('an integrator with a token pushes, lists, registers a webhook and gets signed deliveries', async () => {
  const acme = openClient(stack);
  const bystander = openClient(stack);
  await using receiver = await openReceiver();

  const registered = await acme.post('/webhook-events', {
    url: receiver.url,
    events: ['supplier.created', 'supplier.updated', 'batch.created', 'dds.created', 'sync.completed'],
  });
  expect(registered.status).toBe(201);
  expect(Object.keys(registered.body)).toEqual(['id', 'url', 'events', 'active', 'secret', 'createdAt']);
  const { id, secret } = registered.body as { id: string; secret: string };
  expect(registered.headers.get('location')).toBe(`/api/v1/integration/webhook-events/${id}`);
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);

  const supplier = { externalId: 'SUP-001', name: 'Nordic Timber AB', country: 'se' };
  const suppliers = await acme.post('/suppliers', { suppliers: [supplier, { externalId: 'SUP-002' }] });
  expect(suppliers.status).toBe(200);
  expect(suppliers.headers.get('x-sync-id')).toMatch(/^[\w-]+$/);
  const [created] = (suppliers.body as { records: { internalId: string }[] }).records;
  expect(suppliers.body).toEqual({
    success: false,
    created: 1,
    updated: 0,
    errors: [{ externalId: 'SUP-002', error: 'Supplier name is required' }],
    records: [
      { externalId: 'SUP-001', internalId: expect.stringMatching(/./), status: 'CREATED' },
      { externalId: 'SUP-002', internalId: '', status: 'ERROR' },
    ],
  });

  const products = await acme.post('/products', {
    products: [
      { externalId: 'P-1', name: 'Oak', hsCode: '4407.91', country: 'SE', supplierExternalId: 'SUP-001' },
      { externalId: 'P-2', name: 'Ash', supplierExternalId: 'SUP-404' },
    ],
  });
  expect(products.body).toMatchObject({
    created: 1,
    errors: [
      { externalId: 'P-2', error: 'Supplier with externalId "SUP-404" not found. Sync suppliers first.' },
    ],
  });

  const batches = await acme.post('/batches', {
    autoCreateDDS: true,
    batches: [
      { externalId: 'B-1', productExternalId: 'P-1', batchNumber: 'LOT-1', quantity: 5, unit: 'kg' },
      { externalId: 'B-2', productExternalId: 'P-404', batchNumber: 'LOT-2' },
    ],
  });
  expect(batches.status).toBe(200);
  expect(batches.body).toMatchObject({
    success: false,
    created: 1,
    errors: [{ externalId: 'B-2', error: 'Product with externalId "P-404" not found. Sync products first.' }],
  });
  const [draft] = (batches.body as { ddsCreated: Record<string, unknown>[] }).ddsCreated;
  expect(draft).toEqual({
    ddsId: expect.any(String),
    batchExternalId: 'B-1',
    batchInternalId: expect.any(String),
    status: 'DRAFT',
    hsCode: '4407.91',
    countryOfProduction: 'SE',
    quantity: 5,
    unit: 'kg',
    referenceNumber: null,
    verificationNumber: null,
    missing: ['referenceNumber'],
  });

  const listed = await acme.get('/batches');
  expect(listed.body).toEqual({
    entities: [
      {
        externalId: 'B-1',
        internalId: draft?.['batchInternalId'],
        name: 'LOT-1',
        syncStatus: 'SYNCED',
        lastSyncedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      },
    ],
    total: 1,
    page: 1,
    limit: 50,
  });
  expect((await acme.get('/dds')).body).toMatchObject({ entities: [draft], total: 1 });
  expect((await acme.get('/sync-runs')).body).toMatchObject({
    total: 3,
    entities: [
      { entityType: 'batch', created: 1, failed: 1, state: 'completed' },
      { entityType: 'product', created: 1, failed: 1 },
      { entityType: 'supplier', created: 1, failed: 1 },
    ],
  });

  const again = await acme.post('/suppliers', { suppliers: [supplier] });
  expect(again.body).toMatchObject({
    success: true,
    created: 0,
    updated: 1,
    records: [{ internalId: created?.internalId, status: 'UPDATED' }],
  });
  await acme.post('/suppliers', { suppliers: [{ ...supplier, name: 'Nordic Timber Group', code: 'V-1' }] });

  // supplier.created, supplier.updated, batch.created, dds.created and a sync.completed for each of five pushes.
  const hits = await receiver.received(9);
  const events = hits.map((hit) => (JSON.parse(hit.body) as { event: string }).event).toSorted();
  expect(events).toEqual([
    'batch.created',
    'dds.created',
    'supplier.created',
    'supplier.updated',
    ...Array.from({ length: 5 }, () => 'sync.completed'),
  ]);
  for (const { headers, body } of hits) {
    expect(headers['x-webhook-signature']).toBe(createHmac('sha256', secret).update(body).digest('hex'));
    expect(headers['x-webhook-id']).toBe(id);
    expect(headers['user-agent']).toBe('IntegrationSync-Webhook/1.0');
    const { event, timestamp, integrationId } = JSON.parse(body) as Record<string, string>;
    expect(headers['x-webhook-event']).toBe(event);
    expect(headers['x-webhook-timestamp']).toBe(timestamp);
    expect(integrationId).toBe(acme.integration);
  }
  const updated = receiver.of('supplier.updated').map((hit) => JSON.parse(hit.body) as { data: unknown });
  expect(updated.map(({ data }) => data)).toEqual([
    { externalId: 'SUP-001', internalId: created?.internalId, changedFields: ['name', 'code'] },
  ]);
  expect(new Set(hits.map(({ headers }) => headers['webhook-id'])).size).toBe(9);

  for (const path of ['/suppliers', '/products', '/batches', '/dds', '/sync-runs', '/webhook-events']) {
    expect(await bystander.get(path)).toMatchObject({ status: 200, body: { entities: [], total: 0 } });
  }
  expect(await bystander.get(`/webhook-events/${id}`)).toMatchObject({
    status: 404,
    body: { code: 'not_found' },
  });
  expect(
    await bystander.post('/products', {
      products: [{ externalId: 'P', name: 'P', supplierExternalId: 'SUP-001' }],
    }),
  ).toMatchObject({ status: 200, body: { success: false } });
});

it('exactly one of many concurrent pushes to two replicas creates the record of a new id', async () => {
  const acme = openClient(stack);
  const suppliers = Array.from({ length: 100 }, (_, index) => ({
    externalId: `S-${index}`,
    name: `Supplier ${index}`,
  }));
  // On a slow machine they are more than two seconds' work, and the service asks the last callers to come
  // again.
  const push = async (): ReturnType<typeof acme.post> => {
    const answer = await acme.post('/suppliers', { suppliers });
    return answer.status === 503 ? push() : answer;
  };
  const answers = await Promise.all(Array.from({ length: 24 }, push));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  const records = answers.flatMap(
    ({ body }) => (body as { records: { externalId: string; internalId: string; status: string }[] }).records,
  );
  const created = records.filter(({ status }) => status === 'CREATED').map(({ externalId }) => externalId);
  expect(created.toSorted()).toEqual(suppliers.map(({ externalId }) => externalId).toSorted());
  expect(records.filter(({ status }) => status === 'ERROR')).toEqual([]);
  expect(new Set(records.map(({ externalId, internalId }) => `${externalId} ${internalId}`)).size).toBe(100);
  expect((await acme.get('/suppliers')).body).toMatchObject({ total: 100 });
});

const idsOf = (body: Record<string, unknown>) =>
  (body as { entities: { externalId: string }[] }).entities.map(({ externalId }) => externalId);

it('a walk by page numbers or by Link headers shows each record once', async () => {
  const acme = openClient(stack);
  const suppliers = Array.from({ length: 250 }, (_, index) => ({
    externalId: `S-${index}`,
    name: `Supplier ${index}`,
  }));
  await acme.post('/suppliers', { suppliers });

  const byNumber = await Promise.all(
    [1, 2, 3, 4].map((page) => acme.get(`/suppliers?limit=100&page=${page}`)),
  );
  expect(byNumber.flatMap(({ body }) => idsOf(body))).toEqual(suppliers.map(({ externalId }) => externalId));
  expect(byNumber[3]?.body).toEqual({ entities: [], total: 250, page: 4, limit: 100 });

  const byLink: string[] = [];
  for (let path: string | undefined = '/suppliers?limit=60'; path !== undefined;) {
    const { status, body, headers } = await acme.get(path);
    expect([status, body['total'], body['limit']]).toEqual([200, 250, 60]);
    byLink.push(...idsOf(body));
    path = /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];
  }
  expect(byLink).toEqual(suppliers.map(({ externalId }) => externalId));
  expect(await acme.get('/suppliers?cursor=abc')).toMatchObject({
    status: 400,
    body: { code: 'invalid_request' },
  });
});

it('a NATS client with access to the stream EVENTS reads events, and the NATS micro protocol lists every replica', async () => {
  const { openTestBus, text } = await import('../support/bus.ts');
  const acme = openClient(stack);
  await using bus = await openTestBus(stack.nats);
  const { body } = await acme.post('/suppliers', { suppliers: [{ externalId: 'S-1', name: 'One' }] });
  const [record] = (body as { records: { internalId: string }[] }).records;
  await expect
    .poll(async () => {
      const found: unknown[] = [];
      const reading = { subject: `events.${acme.integration}.>`, from: { sequence: 1 } };
      for await (const message of bus.readStream('EVENTS', reading)) {
        expect(message.id).toMatch(/^[^. ]{1,255}$/);
        found.push([message.subject, (JSON.parse(text(message.body)) as { data: unknown }).data]);
      }
      return found;
    })
    .toEqual([
      [`events.${acme.integration}.supplier.created`, { externalId: 'S-1', internalId: record?.internalId }],
      [
        `events.${acme.integration}.sync.completed`,
        expect.objectContaining({ entityType: 'supplier', created: 1 }),
      ],
    ]);

  const server = await connect({ servers: stack.nats });
  await using _closing = { [Symbol.asyncDispose]: () => server.close() };
  const seen = new Set<string>();
  const ping = async () => {
    const all = { strategy: 'timer', maxWait: 500 } as const;
    for await (const pong of await server.requestMany('$SRV.PING', '', all)) {
      const { name, id } = pong.json<{ name: string; id: string }>();
      seen.add(`${name} ${id}`);
    }
    return [...seen].map((one) => one.split(' ')[0] ?? '').toSorted((a, b) => (a < b ? -1 : 1));
  };
  await expect
    .poll(ping, { timeout: 20_000, interval: 5 })
    .toEqual(['batches', 'catalog', 'catalog', 'gateway', 'webhooks', 'webhooks']);
});

it('a listing by externalId finds records with any valid id', async () => {
  const acme = openClient(stack);
  const bystander = openClient(stack);
  const ids = ['..', 'a/b', 'é', '+', '%2F', 'a blank inside', '\u{1f332}'.repeat(255)];
  await acme.post('/suppliers', {
    suppliers: ids.map((externalId) => ({ externalId, name: 'N', country: 'SE' })),
  });
  for (const externalId of ids) {
    const path = `/suppliers?${new URLSearchParams({ externalId, details: 'true' }).toString()}`;
    const { status, body } = await acme.get(path);
    expect([status, idsOf(body), body['total']]).toEqual([200, [externalId], 1]);
    expect(body['entities']).toMatchObject([{ details: { fields: { name: 'N', country: 'SE' } } }]);
    expect((await bystander.get(path)).body).toMatchObject({ entities: [], total: 0 });
  }
  const wrong = await acme.get('/suppliers?details=yes&page=2&until=2026-03-31');
  expect([wrong.status, wrong.body['errors']]).toMatchObject([
    400,
    [{ pointer: 'details' }, { pointer: 'page' }],
  ]);
});

// Setup: an internal service that asks for the record inside its event handler, while the record is pushed again and again.
// What this proves: it sees the state that the event announces, or something newer.
it('a service that reads a record immediately after an event sees the state that the event announces', async () => {
  const { openFollower, openTestBus, text } = await import('../support/bus.ts');
  const acme = openClient(stack);
  await using bus = await openTestBus(stack.nats);
  const rounds = 20;
  const several = 25;
  const codes: (readonly [at: string, code: number])[] = [];
  const ask = async (body: Uint8Array) => {
    const { data, timestamp } = JSON.parse(text(body)) as {
      data: { externalId: string };
      timestamp: string;
    };
    const reply = await bus.request('svc.catalog.suppliers.list', {
      headers: {
        integration: acme.integration,
        query: new URLSearchParams({ externalId: data.externalId, details: 'true' }).toString(),
      },
      timeoutMs: 10_000,
    });
    const [entity] = (JSON.parse(text(reply.body)) as Listed).entities;
    codes.push([timestamp, Number(entity?.details.fields.code)]);
  };
  await using _following = openFollower(bus, 'EVENTS', {
    filters: [`events.${acme.integration}.supplier.*`],
    ahead: 50,
    onMessage: ({ body }) => ask(body),
  });
  const ids = Array.from({ length: several }, (_, n) => `S-${n}`);
  for (let round = 0; round < rounds; round += 1) {
    const pushed = ids.map((externalId) => ({ externalId, name: 'N', code: String(round) }));
    expect((await acme.post('/suppliers', { suppliers: pushed })).status).toBe(200);
  }
  await expect.poll(() => codes.length, { timeout: 60_000 }).toBe(rounds * several);
  // The n-th push's events come after those of the ones before: each shows at least its own code.
  const byPush = Map.groupBy(codes, ([at]) => at);
  const least = [...byPush.keys()].toSorted((a, b) => (a < b ? -1 : 1));
  expect(least).toHaveLength(rounds);
  for (const [round, at] of least.entries()) {
    const shown = (byPush.get(at) ?? []).map(([, code]) => code);
    expect(Math.min(...shown)).toBeGreaterThanOrEqual(round);
  }
});

interface Listed {
  entities: { details: { fields: { code: string } } }[];
}
