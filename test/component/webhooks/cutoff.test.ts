// Pushes answered before a change, and pushes after it, with a real catalog that has not yet announced the
// answered ones.
import { randomUUID } from 'node:crypto';
import { startCatalog } from '@integration-sync/catalog';
import { CatalogConfig } from '@integration-sync/catalog/config';
import { readConfig } from '@integration-sync/runtime/config';
import { openLog } from '@integration-sync/runtime/log';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openReceiver, type Receiver } from '../../support/receiver.ts';
import { openHouse, type House } from '../../support/webhooks.ts';

/** As many pushes as catalog announces at once. */
const lanes = 4;

let house: House;
let release: PromiseWithResolvers<void> | undefined;
beforeAll(async () => {
  house = await openHouse();
  await house.start();
  await house.start();
  const { NATS_URL, MONGODB_URL, MONGODB_DATABASE } = house.environment;
  const catalog = await startCatalog(readConfig(CatalogConfig, { NATS_URL, MONGODB_URL, MONGODB_DATABASE }), {
    log: openLog({ service: 'test', level: 'silent' }),
    async onStage(stage) {
      if (stage === 'after-publish') await release?.promise;
    },
  });
  closing.use(catalog);
});
const closing = new AsyncDisposableStack();
afterAll(async () => {
  await closing.disposeAsync();
  await house[Symbol.asyncDispose]();
});

async function push(integration: string, externalId: string): Promise<string> {
  const reply = await house.bus.request('svc.catalog.suppliers.push', {
    headers: { integration, 'request-id': randomUUID() },
    body: JSON.stringify({ suppliers: [{ externalId, name: 'Nordic Timber AB' }] }),
    timeoutMs: 10_000,
  });
  return reply.headers.get('http-x-sync-id') ?? '';
}

/** From here on catalog announces no further push. */
async function holdAnnouncing(): Promise<() => void> {
  release = Promise.withResolvers();
  const other = `other-${randomUUID().slice(0, 8)}`;
  await Promise.all(Array.from({ length: lanes }, (_, n) => push(other, `S-${n}`)));
  return release.resolve;
}

/** The arrived events, by their push. */
const seenAt = (receiver: Receiver, names: Record<string, string>): string[] =>
  receiver.hits
    .map(({ headers }) => {
      const [syncId = ''] = (headers['webhook-id'] ?? '').split('-');
      return `${headers['x-webhook-event']} of ${names[syncId] ?? 'another'}`;
    })
    .toSorted();

it('a push before a change of the subscription is delivered by the former subscription, although catalog announces it afterwards', async () => {
  const receivers = [];
  for (let n = 0; n < 4; n += 1) receivers.push(closing.use(await openReceiver()));
  const [changing, enabled, registered, bystander] = receivers;
  if (changing === undefined || enabled === undefined || registered === undefined || bystander === undefined)
    throw new Error('too few receivers');
  const client = house.newClient();
  const both = ['supplier.created', 'sync.completed'];
  await client.register(bystander.url, both);
  const { id: changingId } = await client.register(changing.url, ['supplier.created']);
  const { id: enabledId } = await client.register(enabled.url, both);
  const { disabledAt } = (await client.ask('change', { id: enabledId, body: { active: false } })).body;
  const letGo = await holdAnnouncing();

  const before = await push(client.integration, 'S-before');
  await client.ask('change', { id: changingId, body: { events: ['sync.completed'] } });
  await client.ask('change', { id: enabledId, body: { active: true } });
  await client.register(registered.url, both);
  const after = await push(client.integration, 'S-after');
  expect(bystander.hits).toHaveLength(0);
  letGo();

  const names = { [before]: 'before', [after]: 'after' };
  const ofAfter = ['supplier.created of after', 'sync.completed of after'];
  await Promise.all([
    bystander.received(4),
    changing.received(2),
    enabled.received(2),
    registered.received(2),
  ]);
  expect(seenAt(bystander, names)).toEqual([
    'supplier.created of after', 'supplier.created of before', 'sync.completed of after', 'sync.completed of before',
  ]); // oxfmt-ignore
  expect(seenAt(changing, names)).toEqual(['supplier.created of before', 'sync.completed of after']);
  expect(seenAt(enabled, names)).toEqual(ofAfter);
  expect(seenAt(registered, names)).toEqual(ofAfter);
  // What the endpoint missed is there for a replay.
  expect((await client.ask('replay', { id: enabledId, body: { since: disabledAt } })).body.queued).toBe(4);
});
