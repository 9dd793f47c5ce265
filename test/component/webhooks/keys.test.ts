// The keys that seal stored signing secrets: what a replica does whose settings have other keys than the
// database, at its start rather than at every delivery.
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openEndpoints } from '../../../services/webhooks/src/endpoints/endpoint-store.ts';
import { openReceiver, type Receiver } from '../../support/receiver.ts';
import { openHouse, secretKey, secretKeyOf, type House } from '../../support/webhooks.ts';

let house: House;
let receiver: Receiver;
beforeEach(async () => {
  house = await openHouse();
  receiver = await openReceiver();
});
afterEach(async () => {
  await receiver[Symbol.asyncDispose]();
  await house[Symbol.asyncDispose]();
});

const startWith = (...keys: string[]) => house.start({}, { WEBHOOK_SECRET_KEY: keys.join(',') });

test('a start fails where the key of the stored secrets has the right id, but other bytes', async () => {
  await using _ = await house.start();
  await house.newClient().register(receiver.url);
  await expect(startWith(secretKeyOf('first', 8))).rejects.toThrow(
    'WEBHOOK_SECRET_KEY: expected the key "first" that sealed the stored secrets, got other bytes under this id',
  );
});

test('a start fails where the key of stored secrets is missing, and the error names the key', async () => {
  await using _ = await house.start();
  await house.newClient().register(receiver.url);
  await expect(startWith(secretKeyOf('second', 8), secretKeyOf('third', 9))).rejects.toThrow(
    'WEBHOOK_SECRET_KEY: expected the key "first" as well, which sealed stored secrets, got second, third',
  );
});

test('a start with a new key before the old key in WEBHOOK_SECRET_KEY opens secrets of the old key', async () => {
  const client = house.newClient();
  {
    await using _ = await house.start();
    await client.register(receiver.url);
  }
  await using _ = await startWith(secretKeyOf('second', 8), secretKey);
  await client.announce();
  expect(await receiver.received(1)).toHaveLength(1);
});

test('the old key may not be removed while a secret that it sealed is in its grace period', async () => {
  const client = house.newClient();
  let id = '';
  {
    await using _ = await house.start();
    ({ id } = await client.register(receiver.url));
  }
  {
    await using _ = await startWith(secretKeyOf('second', 8), secretKey);
    await client.ask('rotate', { id, body: { gracePeriodSeconds: 3_600 } });
  }
  await expect(startWith(secretKeyOf('second', 8))).rejects.toThrow(
    'WEBHOOK_SECRET_KEY: expected the key "first" as well, which sealed stored secrets, got second',
  );
});

test('without a lost key a webhook waits, and once its secret is rotated gets the events that waited', async () => {
  const client = house.newClient();
  const headers = { 'X-Token': 'kept' };
  let id = '';
  {
    await using _ = await house.start();
    ({ id } = (
      await client.ask('register', { body: { url: receiver.url, events: ['supplier.created'], headers } })
    ).body);
  }
  await using other = await openReceiver();
  await using _ = await startWith(secretKeyOf('second', 8), 'first:lost');
  await client.register(other.url);
  await client.announce();
  expect(await other.received(1)).toHaveLength(1);
  await expect(client.ask('test', { id })).rejects.toMatchObject({
    code: 'conflict',
    detail: expect.stringContaining('rotate the secret, and set the headers again'),
  });
  await client.ask('change', { id, body: { headers } });
  const { body: rotated } = await client.ask('rotate', { id, body: { gracePeriodSeconds: 3_600 } });
  expect(rotated.previousSecretExpiresAt).toBeNull();
  const [hit] = await receiver.received(1);
  expect(() => new Webhook(rotated.secret).verify(hit?.body ?? '', hit?.headers ?? {})).not.toThrow();
  expect(hit?.headers).toMatchObject({ 'x-token': 'kept' });
  await using _later = await startWith(secretKeyOf('second', 8));
});

test('the old key may be removed once every secret was rotated and the grace periods are over', async () => {
  const client = house.newClient();
  let id = '';
  {
    await using _ = await house.start();
    ({ id } = await client.register(receiver.url));
  }
  {
    await using _ = await startWith(secretKeyOf('second', 8), secretKey);
    await client.ask('rotate', { id, body: { gracePeriodSeconds: 1 } });
  }
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  await using _ = await startWith(secretKeyOf('second', 8));
  await client.announce();
  expect(await receiver.received(1)).toHaveLength(1);
});

test('an endpoint whose secret cannot be opened delays no other endpoint, and causes no duplicates', async () => {
  await using _ = await house.start();
  const client = house.newClient();
  await client.register(receiver.url);
  await using broken = await openReceiver();
  const { id } = await client.register(broken.url);
  const endpoints = await openEndpoints(house.store);
  const read = await endpoints.find(id);
  if (read === null) throw new Error('there is no endpoint');
  await endpoints.change(read, { $set: { secret: `first:${Buffer.alloc(90, 1).toString('base64')}` } });
  await client.announce(700);
  await receiver.received(700);
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  expect(receiver.hits).toHaveLength(700);
  expect(broken.hits).toHaveLength(0);
});
