// The schedule as the receiver sees it. These tests last as long as the schedule does, so they run side by
// side.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { answer, openReceiver, type Hit } from '../../support/receiver.ts';
import { openHouse, type House } from '../../support/webhooks.ts';

let house: House;
beforeAll(async () => {
  house = await openHouse();
  // Two replicas, as everything here must hold over all of them.
  await house.start();
  await house.start();
});
afterAll(() => house[Symbol.asyncDispose]());

/** From one hit to the next, as each retry counts from the end of the attempt before. */
function expectSchedule(hits: readonly Hit[], seconds: readonly number[]): void {
  expect(hits).toHaveLength(seconds.length);
  for (const [index, hit] of hits.entries()) {
    const before = hits[index - 1];
    if (before === undefined) continue;
    const dueMs = 1_000 * ((seconds[index] ?? 0) - (seconds[index - 1] ?? 0));
    expect(hit.atMs - before.atMs, `hit ${index + 1}`).toBeGreaterThan(dueMs - 50);
    expect(hit.awakeMs - before.awakeMs, `hit ${index + 1}`).toBeLessThan(dueMs + 500);
  }
}

const eventIds = (hits: readonly Hit[]) => hits.map(({ headers }) => headers['webhook-id']);

describe.concurrent('the schedule', { timeout: 120_000 }, () => {
  test('an endpoint that always fails gets ten attempts in 73 s, one event at a time, and is disabled', async () => {
    await using receiver = await openReceiver(answer(500));
    await using witness = await openReceiver();
    const client = house.newClient();
    const webhook = await client.register(receiver.url);
    await client.register(witness.url, ['webhook.disabled']);
    const ids = await client.announce(200);

    const [told] = await witness.received(1, { withinMs: 90_000 });

    expectSchedule(receiver.hits, [0, 1, 6, 36, 36, 37, 42, 72, 72, 73]);
    const tried = eventIds(receiver.hits);
    expect(new Set(tried.slice(0, 4)).size).toBe(1);
    expect(new Set(tried.slice(4, 8)).size).toBe(1);
    expect(new Set(tried).size).toBe(3);
    expect(ids).toEqual(expect.arrayContaining(tried));
    expect(JSON.parse(told?.body ?? '')).toMatchObject({
      event: 'webhook.disabled',
      integrationId: client.integration,
      data: { webhookId: webhook.id, url: receiver.url, reason: 'failures', consecutiveFailures: 10 },
    });
    const { body } = await client.ask('get', { id: webhook.id });
    expect(body).toMatchObject({ active: false, disabledReason: 'failures', consecutiveFailures: 10 });
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    expect(receiver.hits).toHaveLength(10);
  });

  test('an event that fails is sent at 0, 1, 6 and 36 s and then given up', async () => {
    await using receiver = await openReceiver(answer(503));
    const client = house.newClient();
    const webhook = await client.register(receiver.url);
    await client.announce();

    await receiver.received(4, { withinMs: 45_000 });

    expectSchedule(receiver.hits, [0, 1, 6, 36]);
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect(receiver.hits).toHaveLength(4);
    const { body } = await client.ask('get', { id: webhook.id });
    expect(body).toMatchObject({ active: true, consecutiveFailures: 4 });
    const log = await eventually(
      () => client.ask('deliveries', { id: webhook.id }),
      ({ body: { entities } }) => entities.length === 4,
    );
    expect(log.body.entities.map(({ attempt }) => attempt)).toEqual([4, 3, 2, 1]);
    expect(log.body.entities[0]).toMatchObject({
      outcome: 'failed',
      responseStatus: 503,
      nextAttemptAt: null,
    });
    expect(log.body.entities[1]?.['nextAttemptAt']).toEqual(expect.any(String));
  });

  test('200 events during a one-second outage all arrive, and the endpoint stays enabled', async () => {
    await using receiver = await openReceiver();
    const client = house.newClient();
    const webhook = await client.register(receiver.url);
    await client.announce();
    await receiver.received(1);
    const delivered: (string | undefined)[] = [];
    let isUp = false;
    receiver.behave((hit, response) => {
      if (isUp) delivered.push(hit.headers['webhook-id']);
      response.writeHead(isUp ? 204 : 503).end();
    });
    const ids = await client.announce(200);
    await receiver.received(2);
    setTimeout(() => (isUp = true), 1_000);

    await eventually(
      () => delivered.length,
      (count) => count === 200,
      15_000,
    );
    expect(new Set(delivered)).toEqual(new Set(ids));
    const { body } = await client.ask('get', { id: webhook.id });
    expect(body).toMatchObject({ active: true, consecutiveFailures: 0 });
  });

  test('a 2xx resets the count of failures', async () => {
    await using receiver = await openReceiver(answer(500));
    const client = house.newClient();
    const webhook = await client.register(receiver.url);
    await client.announce();
    await receiver.received(2);
    receiver.behave(answer(200));
    await receiver.received(3, { withinMs: 7_000 });
    const { active } = await eventually(
      async () => (await client.ask('get', { id: webhook.id })).body,
      ({ consecutiveFailures }) => consecutiveFailures === 0,
    );
    expect(active).toBe(true);
  });

  test('410 disables the endpoint immediately', async () => {
    await using receiver = await openReceiver(answer(410));
    await using witness = await openReceiver();
    const client = house.newClient();
    const webhook = await client.register(receiver.url);
    await client.register(witness.url, ['webhook.disabled']);
    await client.announce(3);
    const [told] = await witness.received(1);
    expect(JSON.parse(told?.body ?? '').data).toMatchObject({
      webhookId: webhook.id,
      reason: 'gone',
      consecutiveFailures: 1,
    });
    expect(receiver.hits).toHaveLength(1);
  });
});
