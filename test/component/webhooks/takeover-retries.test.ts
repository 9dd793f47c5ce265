// Retries whose replica the test kills before they are due. It is a process of its own; the other replica is
// in this process.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { awake } from '../../support/awake.ts';
import { eventually } from '../../support/eventually.ts';
import { answer, openReceiver, type Hit, idsOf } from '../../support/receiver.ts';
import { expectTakenOver, takeoverS } from '../../support/takeover.ts';
import { startWebhookProcess } from '../../support/webhook-process.ts';
import { openHouse, type House } from '../../support/webhooks.ts';

const secondsAfterFirst = (hits: readonly Hit[]): number[] =>
  hits.map(({ atMs }) => (atMs - (hits[0]?.atMs ?? 0)) / 1_000);

let house: House;
beforeAll(async () => {
  house = await openHouse();
});
afterAll(() => house[Symbol.asyncDispose]());

describe('when a replica is killed', { timeout: 90_000 }, () => {
  it('a retry comes when it is due or as soon as another replica has taken over, and the schedule goes on', async () => {
    await using owner = await startWebhookProcess(house.environment);
    await using receiver = await openReceiver(answer(500));
    const client = house.newClient();
    const { id } = await client.register(receiver.url);
    await client.announce();
    await receiver.received(1);
    await using _other = await house.start();
    // Another replica would make an attempt again whose end was not recorded.
    await eventually(
      async () => (await client.ask('get', { id })).body.consecutiveFailures,
      (failures) => failures === 2,
    );

    await owner.kill();

    await receiver.received(4, { withinMs: 60_000 });
    const [first, second = 0, third = 0, fourth = 0] = secondsAfterFirst(receiver.hits);
    expect(first).toBe(0);
    // The other replica starts while they are due, and each counts from the end of the one before.
    expect(second).toBeGreaterThan(0.95);
    expect(second).toBeLessThan(4);
    expect(third - second).toBeGreaterThan(4.95);
    expect(third - second).toBeLessThan(5.5 + takeoverS);
    expect(fourth - third).toBeGreaterThan(29.95);
    expect(fourth - third).toBeLessThan(34);
    expect(idsOf(receiver.hits).size).toBe(1);
  });

  it('a retry that falls due while no replica lives comes as soon as one does', async () => {
    await using first = await startWebhookProcess(house.environment);
    await using receiver = await openReceiver(answer(500));
    const client = house.newClient();
    await client.register(receiver.url);
    await client.announce();
    await receiver.received(2);
    await first.kill();
    await new Promise((resolve) => setTimeout(resolve, 6_000));

    await using _second = await house.start();
    const beganMs = awake();

    const hits = await receiver.received(3, { withinMs: 20_000 });
    expect(hits).toHaveLength(3);
    expectTakenOver(hits, beganMs);
  });
});
