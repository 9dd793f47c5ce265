// The services on a nats-server from deploy/nats, each with its login and permissions from there: everything
// works, and nats-server refuses nothing.
import { randomUUID } from 'node:crypto';
import { AckPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { headers } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { answer, openReceiver } from '../support/receiver.ts';
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

  it('webhooks are registered, delivered to, looked into, held, replayed and removed', async () => {
    const two = `two-${randomUUID()}`;
    await using receiver = await openReceiver();
    const events = ['supplier.created', 'supplier.updated'];
    const { status, body } = await system.call(two, 'POST', '/webhook-events', { url: receiver.url, events });
    expect(status).toBe(201);
    const path = `/webhook-events/${body.id}`;
    const other = await system.call(two, 'POST', '/webhook-events', { url: `${receiver.url}/other`, events });
    // This is more than the shared way takes of one integration.
    await system.call(two, 'POST', '/suppliers', suppliers(500, 'A'));
    await receiver.received(1_000, { withinMs: 30_000 });
    expect((await system.call(two, 'DELETE', `/webhook-events/${other.body.id}`)).status).toBe(204);
    expect((await system.call(two, 'GET', `${path}/deliveries`)).body.total).toBeGreaterThan(0);
    expect(system.logText()).toContain(`webhook-backlog-${two}`);

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
      'ATTEMPTS', 'BUNDLES', 'DELIVERIES', 'EVENTS', 'HELD',
    ]); // prettier-ignore
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
