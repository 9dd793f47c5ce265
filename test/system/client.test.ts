import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import {
  openClient as open,
  verifyWebhook,
  type Client,
  type Event,
  type FeedPoll,
} from '@integration-sync/client';
import type { Stack } from '@integration-sync/dev/stack';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startTestStack } from '../support/stack.ts';
import { listen } from '../support/servers.ts';

// The client package, against the whole service.

let stack: Stack;

beforeAll(async () => {
  stack = await startTestStack();
});
afterAll(() => stack[Symbol.asyncDispose]());

const openFor = (integration: string, scope?: string): Client =>
  open({
    baseUrl: stack.gateway,
    token: stack.token(scope === undefined ? { integration } : { integration, scope }),
  });
const openNew = (): Client => openFor(`client-${randomUUID()}`);

const suppliers = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ externalId: `S-${index}`, name: `Supplier ${index}` }));

it('the client pushes, plans and lists more records than one request may have', async () => {
  const acme = openNew();
  const items = suppliers(1_100);
  expect(await acme.plan('suppliers', items)).toMatchObject({ success: true, created: 1_100, syncIds: [] });
  const pushed = await acme.push('suppliers', items);
  expect(pushed).toMatchObject({ success: true, created: 1_100, unchanged: 0 });
  expect(pushed.syncIds).toHaveLength(3);
  expect(await acme.push('suppliers', items)).toMatchObject({ updated: 1_100, unchanged: 1_100 });
  const listed = await Array.fromAsync(acme.list('suppliers', { details: true }));
  expect(listed.map(({ externalId, details }) => Object.assign({ externalId }, details?.fields))).toEqual(
    items,
  );
  const runs = await Array.fromAsync(acme.runs({ entityType: 'supplier' }));
  expect(runs).toHaveLength(6);
  const [syncId = ''] = pushed.syncIds;
  expect(await acme.run(syncId)).toMatchObject({ syncId, created: 500, errors: [] });
});

it('the client reports a misspelt field with the index of its item among all pushed items', async () => {
  const acme = openNew();
  const items = suppliers(600);
  const misspelt = { ...items[550], contry: 'SE' } as (typeof items)[number];
  items[550] = misspelt;
  const { details, created } = await acme.push('suppliers', items);
  expect(created).toBe(599);
  expect(details.filter(({ action }) => action === 'failed')).toMatchObject([
    { index: 550, problems: [{ pointer: '/suppliers/550/contry', code: 'unknown_field' }] },
  ]);
});

it('the client sets and reads expectations, and names the scope that a token lacks', async () => {
  const integration = `client-${randomUUID()}`;
  const acme = openFor(integration);
  const { syncIds } = await acme.push('products', [{ externalId: 'P', name: 'Oak' }]);
  const set = await acme.expectations.set({ products: { everyHours: 26 }, suppliers: { everyHours: 1 } });
  const { completedAt } = await acme.run(syncIds[0] ?? '');
  expect(set.products).toMatchObject({ everyHours: 26, lastPushAt: completedAt, isOverdue: false });
  expect(await acme.expectations.set({ suppliers: null })).toEqual({ ...set, suppliers: null });
  expect(await acme.expectations.get()).toEqual({ ...set, suppliers: null });
  const wrong = { suppliers: { everyHours: 0 }, products: { everyHours: 745 } };
  await expect(acme.expectations.set(wrong)).rejects.toMatchObject({
    status: 400,
    errors: [{ pointer: '/suppliers/everyHours' }, { pointer: '/products/everyHours' }],
  });
  const [reader, writer] = [
    openFor(integration, 'integration:expectations:read'),
    openFor(integration, 'integration:expectations:write'),
  ];
  await expect(reader.expectations.set({ products: null })).rejects.toMatchObject({
    status: 403,
    scope: 'integration:expectations:write',
  });
  await expect(writer.expectations.get()).rejects.toMatchObject({
    status: 403,
    scope: 'integration:expectations:read',
  });
  expect(await writer.expectations.set({ products: null })).toMatchObject({ products: null });
  expect((await reader.expectations.get()).products).toBeNull();
});

it('the client polls changed records page by page, and archives records', async () => {
  const acme = openNew();
  await acme.push('suppliers', suppliers(250));
  const walk = async (changedSince?: string) => {
    const pages = await Array.fromAsync(acme.poll('suppliers', { changedSince }));
    return {
      ids: pages.flatMap(({ entities }) => entities.map((one) => one.externalId)),
      next: pages.at(-1)?.next,
    };
  };
  const all = await walk();
  expect(all.ids).toHaveLength(250);
  await acme.push('suppliers', [{ externalId: 'S-7', name: 'Seven' }]);
  expect(await acme.archive('suppliers', ['S-9', 'S-404'])).toMatchObject({ archived: 1, success: false });
  const changed = await eventually(
    () => walk(all.next),
    ({ ids }) => ids.includes('S-7') && ids.includes('S-9'),
  );
  expect(changed.next).not.toBe(all.next);
  const archived = await Array.fromAsync(acme.list('suppliers', { externalId: ['S-9'] }));
  expect(archived).toMatchObject([{ syncStatus: 'ARCHIVED' }]);
});

it('the client polls until its caller aborts the loop', async () => {
  const acme = openNew();
  const abort = new AbortController();
  const seen: string[] = [];
  const following = (async () => {
    for await (const { entities } of acme.poll('suppliers', { everyMs: 50, signal: abort.signal })) {
      seen.push(...entities.map(({ name }) => name));
    }
  })().catch((error: unknown) => error);
  try {
    await acme.push('suppliers', [{ externalId: 'S-1', name: 'One' }]);
    await eventually(
      () => seen,
      (names) => names.includes('One'),
    );
    await acme.push('suppliers', [{ externalId: 'S-1', name: 'Uno' }]);
    await eventually(
      () => seen,
      (names) => names.includes('Uno'),
    );
  } finally {
    abort.abort(new Error('enough'));
  }
  expect(await following).toMatchObject({ message: 'enough' });
});

it('the client reads the feed from a time or a cursor, by kinds of events, to its end', async () => {
  const acme = openNew();
  const since = new Date(Date.now() - 60_000).toISOString();
  await acme.push('suppliers', suppliers(3));
  await acme.push('products', [{ externalId: 'P-1', name: 'One' }]);
  const walk = async (how: FeedPoll) => {
    const pages = await Array.fromAsync(acme.poll('events', { limit: 2, ...how }));
    return { events: pages.flatMap(({ entities }) => entities), next: pages.at(-1)?.next };
  };
  const all = await eventually(
    () => walk({ since }),
    ({ events }) => events.some(({ event }) => event === 'product.created'),
  );
  const created = all.events.flatMap((one) => (one.event === 'supplier.created' ? [one] : []));
  expect(created.map(({ data }) => data.externalId)).toEqual(['S-0', 'S-1', 'S-2']);
  expect(new Set(all.events.map(({ id }) => id)).size).toBe(all.events.length);
  const products = await walk({ since, events: ['product.created', 'product.archived'] });
  expect(products.events).toMatchObject([{ event: 'product.created', data: { externalId: 'P-1' } }]);

  await acme.archive('products', ['P-1']);
  const later = await eventually(
    () => walk({ after: products.next, events: ['product.created', 'product.archived'] }),
    ({ events }) => events.length > 0,
  );
  expect(later.events).toMatchObject([{ event: 'product.archived' }]);
  await expect(walk({ after: 'elsewhere' })).rejects.toMatchObject({ status: 400 });
});

it('the client waits for events until its caller aborts the loop', async () => {
  const acme = openNew();
  const abort = new AbortController();
  const begun = Promise.withResolvers<void>();
  const seen: string[] = [];
  const following = (async () => {
    // The first page says where now is.
    const [now] = await Array.fromAsync(acme.poll('events'));
    begun.resolve();
    const how = { after: now?.next, waitSeconds: 25, signal: abort.signal };
    for await (const { entities } of acme.poll('events', how))
      seen.push(...entities.map(({ event }) => event));
  })().catch((error: unknown) => error);
  try {
    await Promise.race([begun.promise, following]);
    await acme.push('suppliers', suppliers(1));
    await eventually(
      () => seen,
      (events) => events.includes('supplier.created') && events.includes('sync.completed'),
    );
  } finally {
    abort.abort(new Error('enough'));
  }
  expect(await following).toMatchObject({ message: 'enough' });
});

it('the client logs in with a key, or with a client id and a secret', async () => {
  const key = stack.key ?? '';
  await open({ baseUrl: stack.gateway, key }).push('suppliers', suppliers(1));
  const client = open({
    baseUrl: `${stack.gateway}/api/v1/integration/`,
    clientId: 'acme',
    clientSecret: key,
  });
  expect(await Array.fromAsync(client.list('suppliers'))).toMatchObject([{ externalId: 'S-0' }]);
  const wrong = open({ baseUrl: stack.gateway, clientId: 'acme', clientSecret: 'isk_wrong' });
  await expect(wrong.list('suppliers').next()).rejects.toMatchObject({ status: 401, code: 'invalid_client' });
});

it('the client manages webhooks, and verifies their deliveries', async () => {
  const acme = openNew();
  const received: Promise<Event | object>[] = [];
  let secret = '';
  const server = createServer((request, response) => {
    void Array.fromAsync(request).then((chunks: Buffer[]) => {
      received.push(
        verifyWebhook({ secret, headers: request.headers, body: new Uint8Array(Buffer.concat(chunks)) }),
      );
      response.writeHead(204).end();
    });
  });
  await using listening = await listen(server);
  const url = `${listening.url}/`;
  const registered = await acme.webhooks.register({ url, events: ['supplier.created'] });
  ({ secret } = registered);
  expect(await acme.webhooks.test(registered.id)).toMatchObject({ delivered: true });
  await acme.push('suppliers', suppliers(1));
  await eventually(
    () => received.length,
    (count) => count >= 2,
  );
  expect(await Promise.all(received)).toMatchObject([
    { event: 'webhook.test', data: { webhookId: registered.id } },
    { event: 'supplier.created', data: { externalId: 'S-0' } },
  ]);
  const attempts = await eventually(
    () => Array.fromAsync(acme.webhooks.deliveries(registered.id, { outcome: 'succeeded' })),
    (all) => all.length === 2,
  );
  expect(attempts.map(({ event }) => event)).toEqual(['supplier.created', 'webhook.test']);
  expect(await acme.webhooks.change(registered.id, { active: false })).toMatchObject({ active: false });
  expect((await acme.webhooks.rotateSecret(registered.id, { gracePeriodSeconds: 0 })).secret).not.toBe(
    secret,
  );
  expect(await Array.fromAsync(acme.webhooks.list())).toHaveLength(1);
  await acme.webhooks.remove(registered.id);
  await expect(acme.webhooks.get(registered.id)).rejects.toMatchObject({ status: 404 });
});
