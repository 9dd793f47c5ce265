// Answered changes hold: over two replicas, either of which may answer, fan out or deliver, each change
// applies to every event that occurs after its answer.
import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventKind } from '@integration-sync/contracts';
import { openEndpoints } from '../../../services/webhooks/src/endpoints/endpoint-store.ts';
import { eventually } from '../../support/eventually.ts';
import { hang, openReceiver, type Hit, idsOf } from '../../support/receiver.ts';
import { openHouse, type House } from '../../support/webhooks.ts';

let house: House;
beforeAll(async () => {
  house = await openHouse();
  await house.start();
  await house.start();
});
afterAll(() => house[Symbol.asyncDispose]());

const rounds = 15;

const verifies = (secret: string, { headers, body }: Hit): boolean => {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
};

describe.concurrent('over two replicas', { timeout: 60_000 }, () => {
  it('a registration applies to the next event', async () => {
    await using receiver = await openReceiver();
    const client = house.newClient();
    for (let round = 1; round <= rounds; round += 1) {
      await client.register(receiver.url);
      await client.announce();
    }
    // The first event goes to one endpoint, the last to all of them.
    const all = (rounds * (rounds + 1)) / 2;
    expect(await receiver.received(all, { withinMs: 20_000 })).toHaveLength(all);
  });

  it('a changed url applies to the next event', async () => {
    await using receiver = await openReceiver();
    const client = house.newClient();
    const { id } = await client.register(receiver.url);
    for (let round = 1; round <= rounds; round += 1) {
      await client.ask('change', { id, body: { url: `${receiver.url}/${round}` } });
      const [eventId] = await client.announce();
      const [hit] = await receiver.received(1, { where: ({ headers }) => headers['webhook-id'] === eventId });
      expect(hit?.path).toBe(`/hook/${round}`);
    }
  });

  it('changed kinds of events apply to the next event', async () => {
    await using receiver = await openReceiver();
    const client = house.newClient();
    const { id } = await client.register(receiver.url);
    for (let round = 1; round <= rounds; round += 1) {
      await client.ask('change', { id, body: { events: ['batch.created'] } });
      await client.announce(1, 'supplier.created');
      await client.announce(1, 'batch.created');
      await client.ask('change', { id, body: { events: ['supplier.created'] } });
      await client.announce(1, 'batch.created');
      await client.announce(1, 'supplier.created');
    }
    for (const event of ['supplier.created', 'batch.created']) {
      await receiver.received(rounds, { where: ({ headers }) => headers['x-webhook-event'] === event });
    }
    expect(receiver.hits).toHaveLength(2 * rounds);
  });

  it('a rotated secret signs the next event, and the previous secret signs no longer after its grace period', async () => {
    await using receiver = await openReceiver();
    const client = house.newClient();
    const { id, secret } = await client.register(receiver.url);
    let previous = secret;
    for (let round = 1; round <= rounds; round += 1) {
      const gracePeriodSeconds = round % 2 === 0 ? 0 : 60;
      const { body } = await client.ask('rotate', { id, body: { gracePeriodSeconds } });
      const [eventId] = await client.announce();
      const [hit] = await receiver.received(1, { where: ({ headers }) => headers['webhook-id'] === eventId });
      if (hit === undefined) throw new Error('nothing came');
      expect(verifies(body.secret, hit)).toBe(true);
      expect(verifies(previous, hit)).toBe(gracePeriodSeconds > 0);
      expect(hit.headers['x-webhook-signature']).toBe(
        createHmac('sha256', body.secret).update(hit.body).digest('hex'),
      );
      previous = body.secret;
    }
  });

  it('a rotated secret signs for its whole grace period, unless a later rotation ends it', async () => {
    await using receiver = await openReceiver();
    const client = house.newClient();
    const { id, secret } = await client.register(receiver.url);
    await client.ask('rotate', { id });
    const { body } = await client.ask('rotate', { id });
    await client.announce();
    await receiver.received(1);
    await client.ask('rotate', { id, body: { gracePeriodSeconds: 0 } });
    await client.announce();
    const [during, after] = await receiver.received(2);
    if (during === undefined || after === undefined) throw new Error('nothing came');
    expect([secret, body.secret].map((one) => verifies(one, during))).toEqual([true, true]);
    expect([secret, body.secret].map((one) => verifies(one, after))).toEqual([false, false]);
  });

  it('a rotated secret does not sign after its grace period', async () => {
    await using receiver = await openReceiver();
    const client = house.newClient();
    const { id, secret } = await client.register(receiver.url);
    await client.ask('rotate', { id, body: { gracePeriodSeconds: 10 } });
    await client.announce();
    await receiver.received(1);
    await new Promise((resolve) => setTimeout(resolve, 10_100));
    await client.announce();
    const [first, second] = await receiver.received(2);
    if (first === undefined || second === undefined) throw new Error('nothing came');
    expect([verifies(secret, first), verifies(secret, second)]).toEqual([true, false]);
  });

  it('a deletion applies to the next event', async () => {
    await using receiver = await openReceiver();
    await using bystander = await openReceiver();
    const client = house.newClient();
    await client.register(bystander.url);
    const after: string[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      const { id } = await client.register(receiver.url);
      await client.announce();
      await client.ask('remove', { id });
      after.push(...(await client.announce()));
    }
    await bystander.received(rounds * 2);
    for (const eventId of after) expect(idsOf(receiver.hits)).not.toContain(eventId);
  });

  it('a pause and its end apply to the next event', async () => {
    await using receiver = await openReceiver();
    await using bystander = await openReceiver();
    const client = house.newClient();
    await client.register(bystander.url);
    const { id } = await client.register(receiver.url);
    const during: string[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      await client.ask('change', { id, body: { active: false } });
      during.push(...(await client.announce()));
      await client.ask('change', { id, body: { active: true } });
      const [eventId] = await client.announce();
      await receiver.received(1, { where: ({ headers }) => headers['webhook-id'] === eventId });
    }
    await bystander.received(rounds * 2);
    for (const eventId of during) expect(idsOf(receiver.hits)).not.toContain(eventId);
  });

  it('a repeated change applies although the replica that first made it died before its broadcast', async () => {
    await using receiver = await openReceiver();
    const client = house.newClient();
    const { id } = await client.register(receiver.url, ['supplier.created']);
    await client.announce();
    await receiver.received(1);
    const endpoints = await openEndpoints(house.store);
    const read = await endpoints.find(id);
    if (read === null) throw new Error('there is no endpoint');
    const events = ['supplier.created', 'product.created'] satisfies EventKind[];
    await endpoints.change(read, { $set: { events }, $inc: { version: 1 } });
    expect((await client.ask('change', { id, body: { events } })).status).toBe(200);
    await client.announce(3, 'product.created');
    expect(await receiver.received(4)).toHaveLength(4);
  });

  it.each([410, 204])('an answer %i of the former url does not count for the new url', async (status) => {
    const changed = Promise.withResolvers<void>();
    await using before = await openReceiver(
      (_hit, response) => void changed.promise.then(() => response.writeHead(status).end()),
    );
    await using after = await openReceiver(hang);
    const client = house.newClient();
    const { id } = await client.register(before.url);
    await client.announce();
    await before.received(1);
    await client.ask('change', { id, body: { url: after.url } });
    changed.resolve();
    await eventually(
      async () => (await client.ask('deliveries', { id })).body.total,
      (attempts) => attempts === 1,
    );
    await client.announce(20);
    await after.received(1);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect((await client.ask('get', { id })).body).toMatchObject({ active: true, consecutiveFailures: 0 });
    // A url that has never answered has one attempt in flight.
    expect(after.hits).toHaveLength(1);
  });

  it('an endpoint gets no event of another integration', async () => {
    await using receiver = await openReceiver();
    const client = house.newClient();
    await client.register(receiver.url);
    await house.newClient().announce(5);
    const [eventId] = await client.announce();
    await receiver.received(1);
    expect(idsOf(receiver.hits)).toEqual(new Set([eventId]));
  });
});

// Not beside the others: three thousand deliveries are a load of their own.
describe('over two replicas', { timeout: 120_000 }, () => {
  it('each event reaches each endpoint once, under one webhook-id, with the same time and body', async () => {
    await using open = new AsyncDisposableStack();
    const receivers = [
      open.use(await openReceiver()),
      open.use(await openReceiver()),
      open.use(await openReceiver()),
    ];
    const client = house.newClient();
    for (const receiver of receivers) await client.register(receiver.url);
    const ids = await client.announce(1_000);
    for (const receiver of receivers) {
      await receiver.received(1_000, { withinMs: 45_000 });
      expect(idsOf(receiver.hits)).toEqual(new Set(ids));
    }
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    for (const receiver of receivers) expect(receiver.hits).toHaveLength(1_000);
    const [first, ...others] = receivers.map(({ hits }) =>
      Object.fromEntries(
        hits.map(({ headers, body }) => [headers['webhook-id'], `${headers['x-webhook-timestamp']} ${body}`]),
      ),
    );
    for (const other of others) expect(other).toEqual(first);
  });
});

it('the deletion of an endpoint under load leaves no offset behind', { timeout: 60_000 }, async () => {
  await using receiver = await openReceiver((_hit, response) => void response.writeHead(500).end());
  const client = house.newClient();
  const { id: bystander } = await client.register(receiver.url);
  const stored = house.store.collection<{ _id: string; offsets: Record<string, unknown> }>('webhook_offsets');
  const behind = async (): Promise<string[]> =>
    Object.keys((await stored.findOne({ _id: client.integration }))?.offsets ?? {});
  for (let round = 1; round <= 4; round += 1) {
    const { id } = await client.register(receiver.url);
    const announcing = Array.from({ length: 10 }, () => client.announce(15));
    await eventually(behind, (ids) => ids.includes(id));
    await client.ask('remove', { id });
    await Promise.all(announcing);
  }
  expect(await eventually(behind, (ids) => ids.length === 1)).toEqual([bystander]);
  await client.ask('remove', { id: bystander });
  expect(await eventually(behind, (ids) => ids.length === 0)).toEqual([]);
});
