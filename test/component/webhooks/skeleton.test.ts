// The shortest way through: an endpoint is registered, an event occurs, a delivery arrives.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openReceiver } from '../../support/receiver.ts';
import { openHouse, type House } from '../../support/webhooks.ts';

let house: House;
beforeAll(async () => {
  house = await openHouse();
  await house.start();
});
afterAll(() => house[Symbol.asyncDispose]());

test('an event reaches the endpoint that subscribes to it', async () => {
  await using receiver = await openReceiver();
  const client = house.newClient();
  const webhook = await client.register(receiver.url);
  const [eventId] = await client.announce();

  const [hit] = await receiver.received(1);

  expect(hit?.headers).toMatchObject({
    'content-type': 'application/json',
    'user-agent': 'IntegrationSync-Webhook/1.0',
    'x-webhook-event': 'supplier.created',
    'x-webhook-id': webhook.id,
    'webhook-id': eventId,
  });
});

test('the health check of webhooks is answered', async () => {
  const reply = await house.bus.request('svc.webhooks.health.check', { timeoutMs: 5_000 });
  expect(Buffer.from(reply.body).toString()).toBe('{"status":"ok"}');
});
