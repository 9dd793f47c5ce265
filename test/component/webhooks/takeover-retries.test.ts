// Retries whose replica the test kills before they are due. It is a process of its own; the other replica is
// in this process.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { awake } from '../../support/awake.ts';
import { eventually } from '../../support/eventually.ts';
import { answer, openReceiver, type Hit, idsOf } from '../../support/receiver.ts';
import { expectTakenOver, takeoverS } from '../../support/takeover.ts';
import { startWebhookProcess } from '../../support/webhook-process.ts';
import { openHouse, type House } from '../../support/webhooks.ts';

/** From the hit before to this one: at least by the clock, at most by `awake()`. */
function expectBetween(
  hits: readonly Hit[],
  index: number,
  [leastS, mostS]: readonly [number, number],
): void {
  const [before, hit] = [hits[index - 1], hits[index]];
  if (before === undefined || hit === undefined) throw new Error('too few hits');
  expect(hit.atMs - before.atMs, `hit ${index + 1}`).toBeGreaterThan(1_000 * leastS);
  expect(hit.awakeMs - before.awakeMs, `hit ${index + 1}`).toBeLessThan(1_000 * mostS);
}

let house: House;
beforeAll(async () => {
  house = await openHouse();
});
afterAll(() => house[Symbol.asyncDispose]());

describe('when a replica is killed', { timeout: 90_000 }, () => {
  it('a retry is made when it is due or as soon as another replica has taken over, and the schedule goes on', async () => {
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
    // The other replica starts while they are due, and each counts from the end of the one before.
    expectBetween(receiver.hits, 1, [0.95, 4]);
    expectBetween(receiver.hits, 2, [4.95, 5.5 + takeoverS]);
    expectBetween(receiver.hits, 3, [29.95, 34]);
    expect(idsOf(receiver.hits).size).toBe(1);
  });

  it('a retry that is due while no replica runs is made as soon as a replica runs', async () => {
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
