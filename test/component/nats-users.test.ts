// The services on a nats-server from deploy/nats, each with its login and permissions from there: everything
// works, and nats-server refuses nothing.
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { startBatches } from '@integration-sync/batches';
import { BatchesConfig } from '@integration-sync/batches/config';
import { startCatalog } from '@integration-sync/catalog';
import { CatalogConfig } from '@integration-sync/catalog/config';
import { partitionOf } from '@integration-sync/contracts';
import { readConfig } from '@integration-sync/runtime/config';
import { openLog } from '@integration-sync/runtime/log';
import { openStore } from '@integration-sync/runtime/store';
import { startWebhooks } from '@integration-sync/webhooks';
import { WebhooksConfig } from '@integration-sync/webhooks/config';
import { headers } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFailed } from 'vitest';
import { newSyncId } from '../../shared/sync/src/ids.ts';
import type { Entry } from '../../shared/sync/src/journal/journal-entry.ts';
import { eventually } from '../support/eventually.ts';
import { writingEntry } from '../support/journal-entries.ts';
import { openTestLog } from '../support/log.ts';
import { runOps } from '../support/ops.ts';
import { answer, openReceiver } from '../support/receiver.ts';
import { deleteConsumer, startNatsWithUsers, type User } from '../support/nats-users.ts';
import { openGateway } from '../support/gateway.ts';
import { openSystemWithUsers, type SystemWithUsers } from '../support/users-system.ts';

let system: SystemWithUsers;
beforeAll(async () => {
  system = await openSystemWithUsers(inject('engines').mongodb);
}, 60_000);
afterAll(() => system[Symbol.asyncDispose]());

const suppliers = (count: number, prefix: string) => ({
  suppliers: Array.from({ length: count }, (_, index) => ({
    externalId: `${prefix}-${index}`,
    name: `Supplier ${index}`,
    country: 'SE',
  })),
});

describe('with the permissions of deploy/nats', () => {
  it('records can be pushed, planned, listed and announced, and pushes can be looked up', async () => {
    const one = `one-${randomUUID()}`;
    expect((await system.call(one, 'POST', '/suppliers', suppliers(100, 'S'))).body).toMatchObject({
      created: 100,
    });
    expect((await system.call(one, 'POST', '/suppliers/plan', suppliers(101, 'S'))).body).toMatchObject({
      created: 1,
    });
    const product = {
      externalId: 'P',
      name: 'Oak',
      hsCode: '4407.91',
      country: 'SE',
      supplierExternalId: 'S-1',
    };
    expect((await system.call(one, 'POST', '/products', { products: [product] })).body).toMatchObject({
      created: 1,
    });
    const batch = { externalId: 'B', productExternalId: 'P', batchNumber: 'L', quantity: 1, unit: 'kg' };
    const pushed = await system.call(one, 'POST', '/batches', { batches: [batch], autoCreateDDS: true });
    expect(pushed.body).toMatchObject({ created: 1, ddsCreated: [{ batchExternalId: 'B' }] });
    expect((await system.call(one, 'GET', '/batches?details=true')).body).toMatchObject({ total: 1 });
    expect((await system.call(one, 'GET', '/dds')).body).toMatchObject({ total: 1 });
    const runs = await system.call(one, 'GET', '/sync-runs');
    expect(runs.body.entities).toHaveLength(3);
    const ofBatches = await system.call(one, 'GET', '/sync-runs?entityType=batch');
    expect(ofBatches.body.entities).toHaveLength(1);
    for (const { syncId } of runs.body.entities)
      expect((await system.call(one, 'GET', `/sync-runs/${syncId}`)).status).toBe(200);
    expect((await fetch(`${system.gatewayUrl}/readyz`)).status).toBe(200);
    expect(system.refusals()).toEqual([]);
  });

  it('events can be read from the feed, and waited for', async () => {
    const fed = `fed-${randomUUID()}`;
    const { body } = await system.call(fed, 'GET', '/events');
    const waiting = system.call(fed, 'GET', `/events?after=${String(body['next'])}&wait=20`);
    await eventually(
      () => system.webhooksMetrics(),
      (metrics) => /webhook_feed_waiting\S* 1\n/.test(metrics),
    );
    await system.call(fed, 'POST', '/suppliers', suppliers(1, 'S'));
    const answered = await waiting;
    expect(answered.status).toBe(200);
    expect(await system.webhooksMetrics()).not.toMatch(/webhook_feed_lost_wakes_total\S* [1-9]/);
    expect(system.refusals()).toEqual([]);
  });

  it('webhooks can be registered, delivered to, inspected, retried, replayed and removed', async () => {
    const two = `two-${randomUUID()}`;
    await using receiver = await openReceiver();
    const events = ['supplier.created', 'supplier.updated'];
    const { status, body } = await system.call(two, 'POST', '/webhook-events', { url: receiver.url, events });
    expect(status).toBe(201);
    const path = `/webhook-events/${body.id}`;
    const other = await system.call(two, 'POST', '/webhook-events', { url: `${receiver.url}/other`, events });
    await system.call(two, 'POST', '/suppliers', suppliers(60, 'A'));
    await receiver.received(120, { withinMs: 30_000 });
    expect((await system.call(two, 'DELETE', `/webhook-events/${other.body.id}`)).status).toBe(204);
    await eventually(
      async () => (await system.call(two, 'GET', `${path}/deliveries`)).body.total,
      (total) => total > 0,
    );

    receiver.behave(answer(500));
    await system.call(two, 'POST', '/suppliers', suppliers(3, 'H'));
    await receiver.received(121);
    receiver.behave(answer(204));
    await receiver.received(124, { withinMs: 30_000 });

    expect((await system.call(two, 'POST', `${path}/rotate-secret`, {})).status).toBe(200);
    const paused = await system.call(two, 'PATCH', path, { active: false });
    await system.call(two, 'POST', '/suppliers', suppliers(5, 'M'));
    await system.call(two, 'PATCH', path, { active: true });
    await eventually(
      async () =>
        (await system.call(two, 'POST', `${path}/replay`, { since: paused.body.disabledAt })).body.queued,
      (queued) => queued === 5,
    );
    await receiver.received(129);

    // A request that takes long: the replica that serves it says so every second.
    receiver.behave((_hit, response) => void setTimeout(() => response.writeHead(204).end(), 4_500));
    expect((await system.call(two, 'POST', `${path}/test`, {})).body).toMatchObject({ delivered: true });
    expect((await system.call(two, 'DELETE', path)).status).toBe(204);
    expect(system.refusals()).toEqual([]);
  });

  it('a service of another team can read events by a consumer that an operator creates', async () => {
    const three = `three-${randomUUID()}`;
    await using reader = await system.nats.connectAs('reader');
    onTestFailed(() => deleteConsumer(system.nats, 'reader'));
    const live = reader.nats.subscribe(`events.${three}.>`, { max: 2 });
    const ops = { NATS_URL: system.nats.urlOf('ops') };
    expect((await runOps(['reader', 'reader'], ops)).code).toBe(3);
    const made = await runOps(['reader', 'reader', '--subject', `events.${three}.>`, '--apply'], ops);
    expect(made).toMatchObject({ code: 0, stdout: 'EVENTS has the consumer reader.\n', stderr: '' });
    expect((await runOps(['reader', 'reader'], ops)).code).toBe(0);
    await system.call(three, 'POST', '/suppliers', suppliers(1, 'R'));
    const consumer = await jetstream(reader.nats).consumers.get('EVENTS', 'reader');
    const seen: string[] = [];
    for await (const message of await consumer.fetch({ max_messages: 2, expires: 10_000 })) {
      seen.push(message.subject);
      await message.ackAck();
    }
    expect(seen).toEqual([`events.${three}.supplier.created`, `events.${three}.sync.completed`]);
    expect((await Array.fromAsync(live)).map(({ subject }) => subject)).toEqual(seen);
    expect(reader.refusals).toEqual([]);
    expect(system.refusals()).toEqual([]);
  });

  it('an operator can see the streams and the replicas', async () => {
    await using operator = await system.nats.connectAs('operator');
    const streams = await (await jetstreamManager(operator.nats)).streams.list().next();
    expect(streams.map(({ config }) => config.name).toSorted()).toEqual([
      'ATTEMPTS',
      'EVENTS',
      'EVENT_BATCHES',
    ]);
    const replicas = async (): Promise<string[]> => {
      const pinged = await operator.nats.requestMany('$SRV.PING', undefined, { maxWait: 500 });
      const answers = await Array.fromAsync(pinged);
      return answers.map((message) => message.json<{ name: string }>().name).toSorted();
    };
    await expect
      .poll(replicas)
      .toEqual(['batches', 'batches', 'catalog', 'catalog', 'gateway', 'webhooks', 'webhooks']);
    expect(operator.refusals).toEqual([]);
    expect(system.refusals()).toEqual([]);
  });
});

// Setup: a nats-server without streams, and services whose logins may make none.
// What this proves: they wait; the log and /readyz name the command; once it has run, they serve.
it('services wait for missing streams, and log the command that creates these', async () => {
  await using stack = new AsyncDisposableStack();
  const nats = stack.use(await startNatsWithUsers());
  const gateway = stack.use(await openGateway(nats.urlOf('gateway')));
  const lines: string[] = [];
  const log = openLog({
    service: 'test',
    level: 'info',
    pretty: false,
    destination: { write: (line: string) => void lines.push(line) },
  });
  const environmentOf = (user: User) => ({ ...system.environmentOf(user), NATS_URL: nats.urlOf(user) });
  const starting = Promise.all([
    startCatalog(readConfig(CatalogConfig, environmentOf('catalog')), { log }),
    startBatches(readConfig(BatchesConfig, environmentOf('batches')), { log }),
    startWebhooks(readConfig(WebhooksConfig, environmentOf('webhooks')), { log }),
  ]);
  const words = '`ops streams --apply` makes what is missing.';
  const faults = async (): Promise<string[]> => {
    const response = await fetch(`${gateway.url}/readyz`);
    const { errors = [] } = (await response.json()) as { errors?: { detail: string }[] };
    return errors.map(({ detail }) => detail.replace(/^The \w+ service is away; try again shortly\. /, ''));
  };
  const isSaid = (details: string[]): boolean => details.filter((one) => one.includes(words)).length === 3;
  const details = await eventually(faults, isSaid, 20_000);
  expect(new Set(details)).toEqual(new Set([`A replica is starting. NATS has no EVENTS; ${words}`]));
  expect(lines.filter((line) => /permissions violation/i.test(line))).toHaveLength(3);
  expect(lines.join('')).toContain(words);

  expect((await runOps(['streams', '--apply'], { NATS_URL: nats.urlOf('ops') })).code).toBe(0);
  for (const service of await starting) stack.use(service);
  // The gateway remembers its answer for a second.
  const status = async (): Promise<number> => (await fetch(`${gateway.url}/readyz`)).status;
  await eventually(status, (found) => found === 200, 10_000);
}, 60_000);

// Setup: a stream that differs from what this release says.
// What this proves: a service whose login may not change it starts, and names the change in a note.
it('a service leaves a stream unchanged that differs from its settings where its login may not change streams', async () => {
  await using stack = new AsyncDisposableStack();
  const nats = stack.use(await startNatsWithUsers());
  await runOps(['streams', '--apply'], { NATS_URL: nats.urlOf('ops') });
  const operator = stack.use(await nats.connectAs('operator'));
  const { streams } = await jetstreamManager(operator.nats);
  await streams.update('EVENTS', { duplicate_window: 120_000_000_000, max_age: 24 * 3600 * 1e9 });
  const environment = { ...system.environmentOf('catalog'), NATS_URL: nats.urlOf('catalog') };
  const lines: string[] = [];
  const log = openLog({
    service: 'test',
    level: 'info',
    pretty: false,
    destination: { write: (line: string) => void lines.push(line) },
  });
  stack.use(await startCatalog(readConfig(CatalogConfig, environment), { log }));
  expect(lines.join('')).toContain('NATS has EVENTS with another duplicate_window than this release says');
  expect((await streams.info('EVENTS')).config).toMatchObject({ duplicate_window: 120_000_000_000 });
}, 60_000);

// Setup: EVENTS forgets ids after a second instead of five minutes, and no service may create EVENT_BATCHES, which is deleted.
// What this proves: while EVENT_BATCHES is missing, no try to announce a push stores its events in EVENTS again.
it('a push whose event batch has no stream is announced once, when the stream is back', async () => {
  await using stack = new AsyncDisposableStack();
  const nats = stack.use(await startNatsWithUsers());
  const apply = () => runOps(['streams', '--apply'], { NATS_URL: nats.urlOf('ops') });
  await apply();
  const { streams } = await jetstreamManager(stack.use(await nats.connectAs('operator')).nats);
  await streams.update('EVENTS', { duplicate_window: 1_000_000_000 });
  const environment = { ...system.environmentOf('catalog'), NATS_URL: nats.urlOf('catalog') };
  const MONGODB_DATABASE = `once_${randomUUID().replaceAll('-', '')}`;
  const config = readConfig(CatalogConfig, { ...environment, MONGODB_DATABASE });
  const { log } = openTestLog('catalog');
  stack.use(await startCatalog(config, { log }));
  const store = stack.use(await openStore({ url: config.MONGODB_URL, database: MONGODB_DATABASE, log }));
  await streams.delete('EVENT_BATCHES');
  const at = new Date();
  const written = { state: 'written' as const, completedAt: at, outcomes: new Uint8Array(), fields: [] };
  const entry = {
    ...writingEntry({ _id: newSyncId(at), integration: 'acme', startedAt: at, due: at }),
    ...written,
  };
  await store.collection<Entry>('catalog_journal').insertOne(entry);
  await wait(12_000);
  await apply();
  await eventually(
    async () => (await streams.info('EVENT_BATCHES')).state.messages,
    (count) => count === 1,
    20_000,
  );
  expect((await streams.info('EVENTS')).state.messages).toBe(1);
}, 60_000);

// Setup: a receiver of all that batches may not announce, and the login of batches in other hands.
// What this proves: whatever the login publishes, the receiver gets none of it, and the log of webhooks names it.
it('the service batches cannot have events of other services delivered, neither by a forged event nor by a forged event batch', async () => {
  const four = `four-${randomUUID()}`;
  await using receiver = await openReceiver();
  const events = ['supplier.erased', 'webhook.disabled', 'batch.created'];
  expect((await system.call(four, 'POST', '/webhook-events', { url: receiver.url, events })).status).toBe(
    201,
  );
  await using batches = await system.nats.connectAs('batches');
  const timestamp = new Date(Date.now() + 60_000).toISOString();
  const bodyOf = (event: string): string =>
    JSON.stringify({ event, timestamp, integrationId: four, data: { externalId: 'E', internalId: 'i' } });
  const batchOf = (kinds: readonly string[]): string =>
    [`${kinds.length} 1000000`, '  ', ...kinds.map((kind) => `0 ${randomUUID()} ${bodyOf(kind)}`), ''].join(
      '\n',
    );
  batches.nats.publish(`events.${four}.supplier.erased`, bodyOf('supplier.erased'));
  batches.nats.publish(`event-batches.catalog.${four}`, batchOf(['supplier.erased']));
  batches.nats.publish(`event-batches.webhooks.${four}`, batchOf(['webhook.disabled']));
  batches.nats.publish(`event-batches.batches.${four}`, batchOf(['supplier.erased', 'webhook.disabled']));
  batches.nats.publish(`event-batches.batches.${four}`, batchOf(['supplier.erased', 'batch.created']));
  batches.nats.publish(`event-batches.replay.${four}`, batchOf(['supplier.erased']));
  await batches.nats.flush();
  const [hit] = await receiver.received(1, { withinMs: 30_000 });
  expect(hit?.headers['x-webhook-event']).toBe('batch.created');
  await eventually(
    () => system.logText().split('refused events of kinds that their publisher may not announce').length - 1,
    (lines) => lines >= 2,
  );
  expect(system.logText()).toContain(`event-batches.${partitionOf(four)}.batches.${four}`);
  expect(receiver.hits.map(({ headers: sent }) => sent['x-webhook-event'])).toEqual(['batch.created']);
});

// What this proves: an event whose subject batches may publish to, and whose body says another kind, is not replayed.
it('an event whose kind differs from its subject is not replayed', async () => {
  const five = `five-${randomUUID()}`;
  await using receiver = await openReceiver();
  const { body } = await system.call(five, 'POST', '/webhook-events', {
    url: receiver.url,
    events: ['supplier.erased', 'batch.created'],
  });
  await using batches = await system.nats.connectAs('batches');
  const since = new Date(Date.now() - 1_000).toISOString();
  for (const event of ['supplier.erased', 'batch.created']) {
    const message = headers();
    message.set('Nats-Msg-Id', randomUUID());
    const said = { event, timestamp: new Date().toISOString(), integrationId: five, data: {} };
    await jetstream(batches.nats).publish(`events.${five}.batch.created`, JSON.stringify(said), {
      headers: message,
    });
  }
  const replayed = await system.call(five, 'POST', `/webhook-events/${body.id}/replay`, { since });
  expect(replayed.body.queued).toBe(1);
  await receiver.received(1, { withinMs: 30_000 });
  expect(receiver.hits.map(({ headers: sent }) => sent['x-webhook-event'])).toEqual(['batch.created']);
});
