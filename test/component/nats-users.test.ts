// The services on a nats-server from deploy/nats, each with its login and permissions from there: everything
// works, and nats-server refuses nothing.
import { randomUUID } from 'node:crypto';
import { partitionOf } from '@integration-sync/contracts';
import { AckPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { headers } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { answer, openReceiver } from '../support/receiver.ts';
import { startNatsWithUsers, users } from '../support/nats-users.ts';
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
  it('records are pushed, planned, listed and announced, and pushes looked up', async () => {
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

  it('webhooks are registered, delivered to, looked into, retried, replayed and removed', async () => {
    const two = `two-${randomUUID()}`;
    await using receiver = await openReceiver();
    const events = ['supplier.created', 'supplier.updated'];
    const { status, body } = await system.call(two, 'POST', '/webhook-events', { url: receiver.url, events });
    expect(status).toBe(201);
    const path = `/webhook-events/${body.id}`;
    const other = await system.call(two, 'POST', '/webhook-events', { url: `${receiver.url}/other`, events });
    await system.call(two, 'POST', '/suppliers', suppliers(500, 'A'));
    await receiver.received(1_000, { withinMs: 30_000 });
    expect((await system.call(two, 'DELETE', `/webhook-events/${other.body.id}`)).status).toBe(204);
    expect((await system.call(two, 'GET', `${path}/deliveries`)).body.total).toBeGreaterThan(0);

    receiver.behave(answer(500));
    await system.call(two, 'POST', '/suppliers', suppliers(3, 'H'));
    await receiver.received(1_001);
    receiver.behave(answer(204));
    await receiver.received(1_004, { withinMs: 30_000 });

    expect((await system.call(two, 'POST', `${path}/rotate-secret`, {})).status).toBe(200);
    const paused = await system.call(two, 'PATCH', path, { active: false });
    await system.call(two, 'POST', '/suppliers', suppliers(5, 'M'));
    await system.call(two, 'PATCH', path, { active: true });
    await eventually(
      async () =>
        (await system.call(two, 'POST', `${path}/replay`, { since: paused.body.disabledAt })).body.queued,
      (queued) => queued === 5,
    );
    await receiver.received(1_009);

    // A request that takes long: the replica that serves it says so every second.
    receiver.behave((_hit, response) => void setTimeout(() => response.writeHead(204).end(), 4_500));
    expect((await system.call(two, 'POST', `${path}/test`, {})).body).toMatchObject({ delivered: true });
    expect((await system.call(two, 'DELETE', path)).status).toBe(204);
    expect(system.refusals()).toEqual([]);
  });

  it('another service inside reads events and asks for their records', async () => {
    const three = `three-${randomUUID()}`;
    await using reader = await system.nats.connectAs('reader');
    const live = reader.nats.subscribe(`events.${three}.>`, { max: 2 });
    const manager = await jetstreamManager(reader.nats);
    const filter_subject = `events.${three}.>`;
    await manager.consumers.add('EVENTS', {
      durable_name: 'reader',
      filter_subject,
      ack_policy: AckPolicy.Explicit,
    });
    await system.call(three, 'POST', '/suppliers', suppliers(1, 'R'));
    const consumer = await jetstream(reader.nats).consumers.get('EVENTS', 'reader');
    const seen: string[] = [];
    for await (const message of await consumer.fetch({ max_messages: 2, expires: 10_000 })) {
      seen.push(message.subject);
      await message.ackAck();
    }
    expect(seen).toEqual([`events.${three}.supplier.created`, `events.${three}.sync.completed`]);
    expect((await Array.fromAsync(live)).map(({ subject }) => subject)).toEqual(seen);
    const asked = headers();
    asked.set('integration', three);
    const reply = await reader.nats.request('svc.catalog.suppliers.list', undefined, {
      headers: asked,
      timeout: 5_000,
    });
    expect(reply.json()).toMatchObject({ total: 1 });
    expect(reader.refusals).toEqual([]);
    expect(system.refusals()).toEqual([]);
  });

  it('an operator sees the streams and the replicas', async () => {
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

const supplierKinds = ['created', 'updated', 'archived', 'erased'].map((action) => `supplier.${action}`);
const productKinds = ['product.created', 'product.updated', 'product.archived'];
const batchKinds = ['batch.created', 'batch.updated', 'batch.archived', 'dds.created'];
const announced: Readonly<Record<string, readonly string[]>> = {
  catalog: [...supplierKinds, ...productKinds, 'sync.completed'],
  batches: [...batchKinds, 'sync.completed'],
  webhooks: ['webhook.disabled'],
};

const batchesOf: Readonly<Record<string, readonly string[]>> = {
  catalog: ['event-batches.catalog.one'],
  batches: ['event-batches.batches.one'],
  webhooks: ['event-batches.webhooks.one', 'event-batches.replay.one'],
};

it('each login announces events of its own kinds and batches of its own, and no others', async () => {
  await using nats = await startNatsWithUsers();
  const kinds = new Set(Object.values(announced).flat());
  const nobodys = ['event-batches.one', 'event-batches.4.catalog.one', 'event-batches.4.0.catalog.one'];
  const subjects = [
    ...Array.from(kinds, (kind) => `events.one.${kind}`),
    ...Object.values(batchesOf).flat(),
    ...nobodys,
  ];
  // The operators' logins are no services.
  for (const user of users.filter((one) => one !== 'operator')) {
    const own = announced[user]?.map((kind) => `events.one.${kind}`) ?? [];
    const allowed = new Set([...own, ...(batchesOf[user] ?? [])]);
    await using login = await nats.connectAs(user);
    for (const subject of subjects) login.nats.publish(subject);
    const refused = await eventually(
      async () => {
        await login.nats.flush();
        return subjects.filter((subject) => login.refusals.some((words) => words.includes(`"${subject}"`)));
      },
      (found) => found.length >= subjects.length - allowed.size,
    );
    expect({ user, refused }).toEqual({ user, refused: subjects.filter((subject) => !allowed.has(subject)) });
  }
});

// Setup: a receiver of all that batches may not announce, and the login of batches in other hands.
// What this proves: whatever the login publishes, the receiver gets none of it, and the log of webhooks names it.
it('what batches may not announce never reaches a receiver, forged as an event or in a batch', async () => {
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
    () => system.logText().split('refused events that their publisher may not announce').length - 1,
    (lines) => lines >= 2,
  );
  expect(system.logText()).toContain(`event-batches.${partitionOf(four)}.batches.${four}`);
  expect(receiver.hits.map(({ headers: sent }) => sent['x-webhook-event'])).toEqual(['batch.created']);
  expect(batches.refusals).toHaveLength(4);
});

// What this proves: an event whose subject batches may publish to, and whose body says another kind, is not replayed.
it('an event that says another kind than its subject is not replayed', async () => {
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
