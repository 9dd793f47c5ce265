// Registering under an Idempotency-Key: once, however often it is asked for.
import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openHouse } from '../../support/webhooks.ts';

const body = { url: 'http://127.0.0.1:9/', events: ['supplier.created', 'batch.created'] };

it('a registration with the same Idempotency-Key and body returns the same webhook and secret', async () => {
  await using house = await openHouse();
  await house.start();
  const acme = house.newClient();
  const first = await acme.ask('register', { key: 'one', body });
  await acme.ask('change', { id: first.body.id, body: { events: ['dds.created'], active: false } });
  const reordered = { events: body.events, url: body.url };
  expect(await acme.ask('register', { key: 'one', body: reordered })).toEqual(first);
  const others = [
    await acme.ask('register', { body }),
    await acme.ask('register', { key: 'two', body }),
    await house.newClient().ask('register', { key: 'one', body }),
  ];
  expect(new Set([first, ...others].map((answer) => answer.body.secret)).size).toBe(4);
  expect((await acme.ask('list')).body.total).toBe(3);
});

it('an Idempotency-Key with another body, or of a deleted or rotated webhook, is answered 409, and accepted as a new key a day later', async () => {
  await using house = await openHouse();
  await house.start();
  const acme = house.newClient();
  const conflict = { code: 'conflict' };
  const { body: first } = await acme.ask('register', { key: 'one', body });
  await expect(
    acme.ask('register', { key: 'one', body: { ...body, events: ['dds.created'] } }),
  ).rejects.toMatchObject(conflict);
  await expect(
    acme.ask('register', { key: 'one', body: { ...body, headers: { A: 'b' } } }),
  ).rejects.toMatchObject(conflict);
  await acme.ask('rotate', { id: first.id });
  await expect(acme.ask('register', { key: 'one', body })).rejects.toMatchObject(conflict);
  await acme.ask('remove', { id: first.id });
  await expect(acme.ask('register', { key: 'one', body })).rejects.toMatchObject(conflict);
  expect((await acme.ask('list')).body.total).toBe(0);
  for (const key of ['', 'k'.repeat(256), encodeURIComponent('é')])
    await expect(acme.ask('register', { key, body })).rejects.toMatchObject({
      code: 'invalid_request',
      errors: [{ pointer: 'Idempotency-Key' }],
    });

  const at = new Date(Date.now() - 24 * 3_600_000 - 1);
  await house.store.collection('webhook_registrations').updateMany({}, { $set: { at } });
  expect((await acme.ask('register', { key: 'one', body })).body.id).not.toBe(first.id);
});

it('concurrent registrations with one Idempotency-Key make one webhook, and a later one completes an unfinished registration', async () => {
  await using house = await openHouse();
  await house.start();
  await house.start();
  const acme = house.newClient();
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => acme.ask('register', { key: 'one', body })),
  );
  expect(new Set(answers.map((answer) => answer.body.secret)).size).toBe(1);
  expect((await acme.ask('list')).body.total).toBe(1);

  // The replica died between the key and the webhook.
  const id = answers[0]?.body.id ?? '';
  await house.store.collection<{ _id: string }>('webhook_endpoints').deleteOne({ _id: id });
  await house.store.collection('webhook_registrations').updateMany({}, { $set: { isDone: false } });
  expect((await acme.ask('register', { key: 'one', body })).body.id).toBe(id);
  expect((await acme.ask('list')).body.total).toBe(1);
});

it('a deleted webhook is not stored again by its registration, whose replica died before it was finished', async () => {
  await using house = await openHouse();
  await house.start();
  const acme = house.newClient();
  const { body: first } = await acme.ask('register', { key: 'one', body });
  await house.store.collection('webhook_registrations').updateMany({}, { $set: { isDone: false } });
  await acme.ask('remove', { id: first.id });
  await expect(acme.ask('register', { key: 'one', body })).rejects.toMatchObject({ code: 'conflict' });
  expect((await acme.ask('list')).body.total).toBe(0);
});

it('the deletion of a webhook does not finish a later registration with the same Idempotency-Key', async () => {
  await using house = await openHouse();
  await house.start();
  const acme = house.newClient();
  const { body: first } = await acme.ask('register', { key: 'daily', body });
  const registrations = house.store.collection('webhook_registrations');
  await registrations.updateMany({}, { $set: { at: new Date(Date.now() - 24 * 3_600_000 - 1) } });
  const { body: second } = await acme.ask('register', { key: 'daily', body });
  // The replica died between the key and the second webhook.
  await house.store.collection<{ _id: string }>('webhook_endpoints').deleteOne({ _id: second.id });
  await registrations.updateMany({}, { $set: { isDone: false } });
  await acme.ask('remove', { id: first.id });
  expect((await acme.ask('register', { key: 'daily', body })).body.id).toBe(second.id);
});

it('a refused registration leaves its Idempotency-Key free', async () => {
  await using house = await openHouse();
  await house.start({}, { WEBHOOK_ENDPOINTS_MAX: '1' });
  const acme = house.newClient();
  const { body: first } = await acme.ask('register', { key: 'one', body });
  await expect(acme.ask('register', { key: 'two', body })).rejects.toMatchObject({ code: 'conflict' });
  await acme.ask('remove', { id: first.id });
  expect((await acme.ask('register', { key: 'two', body })).status).toBe(201);
});

it('concurrent registrations with one Idempotency-Key all get the last webhook that the integration may have', async () => {
  await using house = await openHouse();
  await house.start({}, { WEBHOOK_ENDPOINTS_MAX: '1' });
  await house.start({}, { WEBHOOK_ENDPOINTS_MAX: '1' });
  for (let round = 0; round < 5; round += 1) {
    const acme = house.newClient();
    const answers = await Promise.all(
      Array.from({ length: 30 }, async (_, nth) => {
        await wait(nth);
        return acme.ask('register', { key: 'last', body });
      }),
    );
    expect(new Set(answers.map((answer) => answer.body.secret)).size).toBe(1);
    await expect(acme.ask('register', { key: 'further', body })).rejects.toMatchObject({ code: 'conflict' });
  }
});
