import type { Service, Stack } from '@integration-sync/dev/stack';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { awake } from '../support/awake.ts';
import { openReceiver } from '../support/receiver.ts';
import { openClient, startTestStack } from '../support/stack.ts';

let stack: Stack;

beforeAll(async () => {
  stack = await startTestStack({ ownMongodb: true });
});
// A failed test may have left some of it dead.
afterEach(async () => {
  for (const engine of Object.values(stack.engines)) await engine.resume();
  await stack.resume('batches');
  await stack.ready();
});
afterAll(async () => stack[Symbol.asyncDispose]());

const readiness = async (): Promise<{ status: number; detail: string }> => {
  const response = await fetch(`${stack.gateway}/readyz`);
  const { detail = '' } = (await response.json()) as { detail?: string };
  return { status: response.status, detail };
};

const oneSupplier = (name: string) => ({ suppliers: [{ externalId: 'S-1', name }] });

it.each<Service>(['gateway', 'catalog', 'batches', 'webhooks'])(
  'the system is ready and works again within 15 s of the death of %s',
  async (service) => {
    const acme = openClient(stack);
    await stack.kill(service);
    await stack.ready(15_000);
    expect(await acme.post('/suppliers', oneSupplier('after'))).toMatchObject({
      status: 200,
      body: { created: 1 },
    });
  },
);

it.each(['nats', 'mongodb'] as const)(
  'a start logs that it waits for %s, and serves once the engine is back',
  async (name) => {
    const acme = openClient(stack);
    await acme.post('/suppliers', oneSupplier('before'));
    const engine = stack.engines[name];
    engine.hold();
    await engine.kill();

    const askedAt = awake();
    const refused = await acme.post('/suppliers', oneSupplier('meanwhile'));
    expect(refused).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(awake() - askedAt).toBeLessThan(3_000);
    await expect.poll(readiness, { timeout: 10_000 }).toEqual({
      status: 503,
      detail: expect.stringMatching(name === 'nats' ? /NATS|message bus/i : /database|MongoDB/i),
    });
    expect((await fetch(`${stack.gateway}/healthz`)).status).toBe(200);

    await engine.resume();
    await stack.ready(15_000);
    expect(await acme.post('/suppliers', oneSupplier('after'))).toMatchObject({
      status: 200,
      body: { updated: 1 },
    });
    expect((await acme.get('/suppliers')).body).toMatchObject({ total: 1, entities: [{ name: 'after' }] });
  },
);

it('requests to an unavailable service are answered 503, all other requests 200', async () => {
  const acme = openClient(stack);
  stack.hold('batches');
  await stack.kill('batches');
  const batch = { batches: [{ externalId: 'B', productExternalId: 'P', batchNumber: 'L' }] };
  expect(await acme.post('/batches', batch)).toMatchObject({ status: 503 });
  expect(await acme.post('/suppliers', oneSupplier('fine'))).toMatchObject({ status: 200 });
  await expect
    .poll(readiness, { timeout: 10_000 })
    .toMatchObject({ detail: expect.stringContaining('batches') });
  await stack.resume('batches');
  await stack.ready(15_000);
});

const batch = (product: string) => ({
  batches: [{ externalId: `B-${product}`, productExternalId: product, batchNumber: 'L' }],
});

it('a push of batches writes nothing while catalog is away', async () => {
  const acme = openClient(stack);
  await acme.post('/products', {
    products: [
      { externalId: 'P', name: 'P' },
      { externalId: 'Q', name: 'Q' },
    ],
  });
  stack.hold('catalog');
  await stack.kill('catalog');
  expect(await acme.post('/batches', batch('P'))).toMatchObject({
    status: 503,
    body: { code: 'unavailable' },
  });
  expect((await acme.get('/batches')).body).toMatchObject({ total: 0 });
  await stack.resume('catalog');
  await stack.ready(15_000);
  expect(await acme.post('/batches', batch('P'))).toMatchObject({ status: 200, body: { created: 1 } });
});

const idOf = (hit: { body: string }) =>
  (JSON.parse(hit.body) as { data: { externalId: string } }).data.externalId;

// Setup: four clients push without a pause, and a receiver gets every record. Timeline: the test kills
// catalog, batches, webhooks and both engines in turn while they push. What this proves: every push that was
// answered 200 is listed afterwards and announced to the receiver, whichever process died.
it(
  'no push that was answered 200 is lost, whichever process dies meanwhile',
  { timeout: 180_000 },
  async () => {
    const acme = openClient(stack);
    await using receiver = await openReceiver();
    await acme.post('/webhook-events', { url: receiver.url, events: ['supplier.created'] });
    const acknowledged = new Set<string>();
    const refusals = new Set<number | string>();
    const stop = new AbortController();
    const push = async (client: number): Promise<void> => {
      for (let turn = 0; !stop.signal.aborted; turn += 1) {
        const suppliers = Array.from({ length: 10 }, (_, index) => ({
          externalId: `${client}-${turn}-${index}`,
          name: `Supplier ${index}`,
        }));
        const answer = await acme.post('/suppliers', { suppliers }).catch(() => undefined);
        if (answer?.status === 200 && answer.body['success'] === true) {
          for (const { externalId } of suppliers) acknowledged.add(externalId);
        } else {
          refusals.add(answer?.status ?? 'no answer');
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      }
    };
    const pushing = Promise.all([0, 1, 2, 3].map(push));
    try {
      for (const strike of [
        () => stack.kill('catalog'),
        () => stack.engines.mongodb.kill(),
        () => stack.kill('webhooks'),
        () => stack.engines.nats.kill(),
        () => stack.kill('catalog'),
      ]) {
        await new Promise((resolve) => setTimeout(resolve, 1_500));
        await strike();
        await stack.ready(20_000);
      }
    } finally {
      stop.abort();
      await pushing;
    }
    expect(acknowledged.size).toBeGreaterThan(100);
    expect(['no answer', 503, 504]).toEqual(expect.arrayContaining([...refusals]));

    const listed = new Set<string>();
    for (let path: string | undefined = '/suppliers?limit=100'; path !== undefined;) {
      const { body, headers } = await acme.get(path);
      for (const { externalId } of (body as { entities: { externalId: string }[] }).entities)
        listed.add(externalId);
      path = /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];
    }
    expect([...acknowledged].filter((externalId) => !listed.has(externalId))).toEqual([]);

    const missing = () => {
      const announced = new Set(receiver.hits.map(idOf));
      return [...acknowledged].filter((externalId) => !announced.has(externalId)).length;
    };
    await expect.poll(missing, { timeout: 60_000, interval: 500 }).toBe(0);
    const idByRecord = Map.groupBy(receiver.hits, idOf);
    for (const [externalId, hits] of idByRecord) {
      expect([externalId, new Set(hits.map(({ headers }) => headers['webhook-id'])).size]).toEqual([
        externalId,
        1,
      ]);
    }
  },
);
