// ops purge-integration, beside running replicas of catalog, batches and webhooks: nothing of the integration is left, in no
// collection and no stream, and nothing of another one is missing.
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Failure } from '@integration-sync/contracts';
import { readConfig } from '@integration-sync/runtime/config';
import { openLog } from '@integration-sync/runtime/log';
import { startWebhooks } from '@integration-sync/webhooks';
import { WebhooksConfig } from '@integration-sync/webhooks/config';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { runOps, startOps } from '../../support/ops.ts';
import { answer, openReceiver, type Receiver } from '../../support/receiver.ts';
import { allStored } from '../../support/stored-data.ts';
import { openWorld, type World } from '../../support/sync.ts';
import { clientOf, secretKey } from '../../support/webhooks.ts';

const closing = new AsyncDisposableStack();
let world: World;
let receiver: Receiver;
let environment: Record<string, string>;

beforeAll(async () => {
  world = closing.use(await openWorld(inject('engines').mongodb));
  receiver = closing.use(
    await openReceiver((hit, response, request) =>
      answer(hit.path.endsWith('/broken') ? 500 : 204)(hit, response, request),
    ),
  );
  await world.startCatalog();
  await world.startBatches();
  environment = { ...world.environment, WEBHOOK_SECRET_KEY: secretKey, WEBHOOK_EGRESS_ALLOW: '127.0.0.0/8' };
  const log = openLog({ service: 'webhooks', level: 'silent' });
  closing.use(await startWebhooks(readConfig(WebhooksConfig, environment), { log }));
  environment['LOG_LEVEL'] = 'warn';
});
afterAll(() => closing.disposeAsync());

const suppliers = (count: number, prefix: string) =>
  Array.from({ length: count }, (_, n) => ({
    externalId: `${prefix}-${n}`,
    name: `Supplier ${n}`,
    country: 'SE',
  }));

interface Filled {
  integration: string;
  endpointIds: string[];
}

let filled: Promise<unknown> = Promise.resolve();

/** One integration after the other: each fills the machine, and gets what it has to get within its own time. */
function fill(): Promise<Filled> {
  const filling = filled.then(() => fillAlone(randomUUID()));
  filled = filling.catch(() => undefined);
  return filling;
}

/** Something in every place: also what failed, and what was missed. */
async function fillAlone(integration: string): Promise<Filled> {
  const caller = world.caller(integration);
  const client = clientOf(world.bus, integration);
  const kinds = ['supplier.created', 'batch.created', 'sync.completed'];
  await caller.expect({ suppliers: { everyHours: 26 }, batches: { everyHours: 1 } });
  const well = await client.register(receiver.url, kinds);
  const broken = await client.register(`${receiver.url}/broken`, kinds);
  const paused = await client.register(`${receiver.url}/paused`, kinds);
  await client.ask('change', { id: paused.id, body: { active: false } });
  await caller.push('suppliers', [
    ...suppliers(499, `${integration}-S`),
    { externalId: `${integration}-wrong` },
  ]);
  await caller.push('products', [
    {
      externalId: 'P',
      name: 'Oak',
      hsCode: '4407.91',
      country: 'SE',
      supplierExternalId: `${integration}-S-1`,
    },
  ]);
  const batch = { externalId: 'B', productExternalId: 'P', batchNumber: 'L', quantity: 1, unit: 'kg' };
  await caller.push('batches', [batch], { autoCreateDDS: true });
  await receiver.received(500, {
    withinMs: 60_000,
    where: ({ headers, body }) => headers['x-webhook-id'] === well.id && body.includes(integration),
  });
  await eventually(
    () => world.bus.countMessages('ATTEMPTS', `attempts.${broken.id}`),
    (count) => count > 0,
  );
  await announced(integration);
  return { integration, endpointIds: [well.id, broken.id, paused.id] };
}

const journals = ['catalog_journal', 'batches_journal'];

async function announced(integration: string): Promise<void> {
  for (const journal of journals)
    await eventually(
      () => world.store.database.collection(journal).countDocuments({ integration, due: { $exists: true } }),
      (count) => count === 0,
    );
}

/** As if its last push had been an hour ago. */
async function age(integration: string): Promise<void> {
  const startedAt = new Date(Date.now() - 60 * 60_000);
  for (const journal of journals)
    await world.store.database.collection(journal).updateMany({ integration }, { $set: { startedAt } });
}

const ops = (...args: string[]) => runOps(['purge-integration', ...args], environment);

async function placesOf(...words: string[]): Promise<string[]> {
  const found = (await allStored(world.store, world.bus)).filter(({ text }) =>
    words.some((word) => text.includes(word)),
  );
  return [...new Set(found.map(({ place }) => place))].toSorted();
}

const everywhere = [
  'ATTEMPTS', 'EVENTS', 'EVENT_BATCHES', 'batches', 'batches_heads', 'batches_journal', 'catalog_expectations', 'catalog_heads',
  'catalog_journal', 'dds', 'products', 'suppliers', 'webhook_endpoints', 'webhook_revisions',
]; // oxfmt-ignore

/** What does not change by itself, sorted: attempts at a broken endpoint go on until it is disabled. */
async function documentsOf(integration: string): Promise<string[]> {
  const all = await allStored(world.store, world.bus);
  const changing = new Set(['ATTEMPTS', 'webhook_endpoints', 'webhook_offsets', 'webhook_revisions']);
  return all
    .filter(({ place, text }) => !changing.has(place) && text.includes(integration))
    .map(({ text }) => text)
    .filter((text) => !text.includes('webhook.disabled'))
    .toSorted();
}

// Each waits a quarter of a minute and more between two passes, and has integrations of its own.
describe.concurrent('beside other integrations', () => {
  test('purge-integration counts without --apply, refuses while the integration pushes, and then removes the integration', async () => {
    const { integration, endpointIds } = await fill();
    const bystander = await fill();
    expect(await placesOf(integration, ...endpointIds)).toEqual(expect.arrayContaining(everywhere));
    const before = await documentsOf(integration);
    const ofBystander = await documentsOf(bystander.integration);

    const looked = await ops(integration, '--json');
    expect(looked.code).toBe(0);
    const { found } = JSON.parse(looked.stdout);
    expect(found).toMatchObject({
    'MongoDB suppliers': 499, 'MongoDB products': 1, 'MongoDB batches': 1, 'MongoDB dds': 1,
    'MongoDB catalog_journal': 2, 'MongoDB batches_journal': 1, 'MongoDB catalog_heads': 2, 'MongoDB batches_heads': 2,
    'MongoDB webhook_endpoints': 3, 'MongoDB webhook_revisions': 1, 'MongoDB catalog_expectations': 2,
  }); // oxfmt-ignore
    expect(found['NATS EVENTS']).toBeGreaterThan(500);
    expect(found['NATS EVENT_BATCHES']).toBeGreaterThan(2);
    expect(found['NATS ATTEMPTS']).toBeGreaterThan(0);

    const refused = await ops(integration, '--apply');
    expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining('still pushes') });
    expect(await documentsOf(integration)).toEqual(before);

    const caller = world.caller(integration);
    const client = clientOf(world.bus, integration);
    const { next = '' } = await caller.list('suppliers', 'limit=2');
    const { next: nextRuns = '' } = await caller.runs('limit=2');
    const { headers } = await client.ask('list', { query: 'limit=2' });
    const [, nextWebhooks = ''] = /\?(cursor=[^>]+)>/.exec(headers['http-link'] ?? '') ?? [];
    expect((await client.ask('list', { query: nextWebhooks })).body.entities).toHaveLength(1);
    await age(integration);
    const done = await ops(integration, '--apply');
    expect(done).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`Nothing of ${integration} is left`),
    });
    expect(await placesOf(integration, ...endpointIds)).toEqual([]);
    // A cursor of before names a listing that is gone.
    for (const page of [
      () => caller.list('suppliers', next),
      () => caller.runs(nextRuns),
      () => client.ask('list', { query: nextWebhooks }),
    ])
      await expect(page()).rejects.toMatchObject({
        code: 'invalid_request',
        errors: [{ pointer: 'cursor' }],
      });

    expect(await documentsOf(bystander.integration)).toEqual(ofBystander);
    expect(await placesOf(bystander.integration, ...bystander.endpointIds)).toEqual(
      expect.arrayContaining(everywhere),
    );
    await world.caller(bystander.integration).push('suppliers', suppliers(1, 'later'));
    await receiver.received(1, {
      where: ({ body }) => body.includes(bystander.integration) && body.includes('"later-0"'),
    });

    // The name is free again.
    const again = await world.caller(integration).push('suppliers', suppliers(2, 'new'));
    expect(again).toMatchObject({ created: 2 });
    expect(await world.caller(integration).list('suppliers')).toMatchObject({ total: 2 });
  }, 120_000);

  test('after kill -9 the next purge-integration removes the remaining data, also of deleted webhooks', async () => {
    const { integration, endpointIds } = await fill();
    await age(integration);
    await using running = startOps(['purge-integration', integration, '--apply'], environment);
    await running.said('removed from MongoDB webhook_endpoints');
    await running.kill();
    expect(await world.store.database.collection('webhook_endpoints').countDocuments({ integration })).toBe(
      0,
    );
    const looked = await ops(integration);
    expect(looked.stdout).toContain(`A removal of ${integration} was begun earlier and is not finished.`);

    expect(await ops(integration, '--apply')).toMatchObject({ code: 0 });
    expect(await placesOf(integration, ...endpointIds)).toEqual([]);
  }, 120_000);

  test('purge-integration reports that the removal is not complete while the integration pushes', async () => {
    const { integration } = await fill();
    await age(integration);
    await using running = startOps(['purge-integration', integration, '--apply'], environment);
    const over = new AbortController();
    await running.said('pass 1: waiting');
    const pushing = (async () => {
      for (let n = 0; !over.signal.aborted; n += 1) {
        // While a pass runs, catalog may refuse a push as unavailable, and the caller pushes on.
        await world
          .caller(integration)
          .push('suppliers', suppliers(1, `more-${n}`))
          .catch(unlessUnavailable);
        await wait(500);
      }
    })();
    const [ended] = await Promise.all([running.ended.finally(() => over.abort()), pushing]);
    expect(ended.code).toBe(3);
    expect(ended.stdout).toContain('came back (');
    expect(ended.stdout).toContain('MongoDB suppliers');
  }, 150_000);
});

function unlessUnavailable(error: unknown): void {
  if (!(error instanceof Failure && error.code === 'unavailable')) throw error;
}
