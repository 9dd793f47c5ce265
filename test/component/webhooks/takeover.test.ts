// Replicas that the test kills or stops in the middle of deliveries: others go on where they were, within
// five seconds. takeover-retries.test.ts has the retries. A killed replica is a process of its own, the other
// one is in this process. The tests run side by side, each on a house of its own.
import { describe, expect, it } from 'vitest';
import { awake } from '../../support/awake.ts';
import { eventually } from '../../support/eventually.ts';
import { freeze } from '../../support/freeze.ts';
import { answer, hang, openReceiver, type Hit, idsOf } from '../../support/receiver.ts';
import { expectTakenOver } from '../../support/takeover.ts';
import { startWebhookProcess } from '../../support/webhook-process.ts';
import { openHouse } from '../../support/webhooks.ts';

describe.concurrent('when a replica is killed', { timeout: 90_000 }, () => {
  it('another replica repeats its deliveries in flight within five seconds, under the same ids', async () => {
    await using house = await openHouse();
    await using first = await startWebhookProcess(house.environment);
    await using receiver = await openReceiver();
    const client = house.newClient();
    await client.register(receiver.url);
    await client.announce();
    await receiver.received(1);
    receiver.behave(hang);
    const ids = await client.announce(8);
    await receiver.received(9);
    await using _second = await house.start();
    receiver.behave(answer(204));
    const before = receiver.hits.length;

    await first.kill();
    const beganMs = awake();

    // What was delivered in the last moments before a death may come again as well.
    const isAgain = (hit: Hit): boolean =>
      receiver.hits.indexOf(hit) >= before && ids.includes(hit.headers['webhook-id'] ?? '');
    const again = await receiver.received(8, { withinMs: 20_000, where: isAgain });
    expectTakenOver(again, beganMs);
    expect(idsOf(again)).toEqual(new Set(ids));
    expect(receiver.hits.length).toBeLessThanOrEqual(before + 9);
    for (const { headers } of receiver.hits) expect(headers['webhook-timestamp']).toMatch(/^\d+$/);
  });

  it('another replica delivers its backlog', async () => {
    await using house = await openHouse();
    await using first = await startWebhookProcess(house.environment);
    await using receiver = await openReceiver(answer(500));
    const client = house.newClient();
    await client.register(receiver.url);
    const ids = await client.announce(300);
    await receiver.received(2);

    await first.kill();
    receiver.behave(answer(204));
    await using _second = await house.start();

    const delivered = ({ atMs }: Hit): boolean => atMs > (receiver.hits[1]?.atMs ?? 0);
    const hits = await receiver.received(300, { withinMs: 15_000, where: delivered });
    expect(idsOf(hits)).toEqual(new Set(ids));
  });
});

it.concurrent(
  'a replica that is resumed leaves its partitions to the replicas that took these over',
  { timeout: 90_000 },
  async () => {
    await using house = await openHouse();
    await using first = await startWebhookProcess(house.environment);
    await using receiver = await openReceiver(answer(500));
    const client = house.newClient();
    await client.register(receiver.url);
    const ids = await client.announce(300);
    await receiver.received(1);
    receiver.behave((_hit, response) => void setTimeout(() => response.writeHead(204).end(), 400));
    await using _second = await house.start();
    // A replica takes another for dead only after it has listened for a while.
    await new Promise((resolve) => setTimeout(resolve, 3_500));
    {
      using _asleep = await freeze([first.pid]);
      await new Promise((resolve) => setTimeout(resolve, 3_500));
    }
    await eventually(
      () => idsOf(receiver.hits.slice(1)).size,
      (count) => count === ids.length,
      60_000,
    );
    // A replica that sleeps delivers twice what it had delivered of its last chunk and not noted yet, and
    // nothing else.
    expect(receiver.hits.length).toBeLessThan(ids.length + 100);
  },
);

/** A hand-back waits 0.5 s; a busy machine needs the rest. An attempt that hangs would take 10 s. */
const stoppedWithinMs = 4_000;

describe.concurrent('when a replica is stopped', { timeout: 60_000 }, () => {
  it('short deliveries end, waiting deliveries go to another replica immediately, and no delivery is duplicated', async () => {
    await using house = await openHouse();
    await using first = await startWebhookProcess(house.environment);
    await using receiver = await openReceiver();
    const client = house.newClient();
    await client.register(receiver.url);
    await client.announce();
    await receiver.received(1);
    receiver.behave((_hit, response) => void setTimeout(() => response.writeHead(204).end(), 100));
    await using _second = await house.start();
    const ids = await client.announce(400);
    await receiver.received(50);

    expect(await first.stop()).toBe(0);

    await receiver.received(401, { withinMs: 20_000 });
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    expect(receiver.hits).toHaveLength(401);
    expect(idsOf(receiver.hits.slice(1))).toEqual(new Set(ids));
  });

  it('hanging deliveries are cut off, and another replica sends each cut-off delivery once more', async () => {
    await using house = await openHouse();
    await using first = await startWebhookProcess(house.environment);
    await using receiver = await openReceiver();
    const client = house.newClient();
    await client.register(receiver.url);
    await client.announce();
    await receiver.received(1);
    receiver.behave(hang);
    const ids = await client.announce(8);
    await receiver.received(9);
    receiver.behave(answer(204));
    const beganMs = awake();

    expect(await first.stop()).toBe(0);

    expect(awake() - beganMs).toBeLessThan(stoppedWithinMs);
    await using _second = await house.start();
    const hits = await receiver.received(17, { withinMs: 20_000 });
    expect(hits).toHaveLength(17);
    expect(idsOf(hits.slice(9))).toEqual(new Set(ids));
  });
});
