// The number of partitions in force: who may change it, and what becomes of that which came under another number.
import { describe, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { runOps } from '../../support/ops.ts';
import { openHouse } from '../../support/webhooks.ts';
import {
  divide,
  inForce,
  into,
  notes,
  nothingLeft,
  openTraffic,
  patienceMs,
  readBy,
  reads,
  standing,
  timeout,
} from '../../support/partitions.ts';
import { pause } from '../../support/pause.ts';

describe('where the number of partitions changes', { timeout }, () => {
  it.each([[[2, 4]], [[4, 2]], [[2, 4, 3]]])(
    'what came under 1 and then %j goes out once, in the order of its integration',
    async (numbers) => {
      await using house = await openHouse();
      const first = await house.start();
      await using traffic = await openTraffic(house, 4);
      await first[Symbol.asyncDispose]();
      await traffic.announce(20);
      for (const number of numbers) {
        await divide(house, { DELIVERY_PARTITIONS: number, STREAMS_MAY_SHRINK: true });
        await traffic.announce(20);
      }
      const [client] = traffic.clients;
      const subjects = await house.bus.countBySubject('BUNDLES', 'bundles.>');
      const ofClient = [...subjects.keys()].filter((subject) => subject.endsWith(`.${client?.integration}`));
      expect(ofClient).toHaveLength(numbers.length + 1);

      const last = into(numbers.at(-1) ?? 1);
      await house.start({}, last);
      await house.start({}, last);
      await traffic.delivered();
      expect(await traffic.doubles()).toEqual([]);
      expect(traffic.fannedOut).toEqual(traffic.announced);
      await nothingLeft(house);
    },
  );

  it.each([
    [1, 2],
    [2, 4],
  ])('replicas go on while it is raised from %i to %i', async (before, after) => {
    await using house = await openHouse();
    const first = await house.start({}, into(before));
    await using traffic = await openTraffic(house, after);
    {
      await using _traffic = traffic.announceOn();
      await traffic.receiver.received(10, { withinMs: patienceMs });
      const second = await house.start({}, into(after));
      await reads(second, after / 2);
      await reads(first, after / 2);
      await pause(500);
    }
    await traffic.delivered();
    expect(await traffic.doubles()).toEqual([]);
    expect(traffic.fannedOut).toEqual(traffic.announced);
    expect(await inForce(house)).toEqual([after, after]);
    const says = before === 1 ? '1 partition' : `${before} partitions`;
    const note = `A replica has ${says} by DELIVERY_PARTITIONS, where NATS has ${after} partitions of BUNDLES, DELIVERIES;`;
    await eventually(
      () => notes(house),
      (text) => text.includes(`${note} it changed nothing.`),
    );
  });
});

describe('the number of partitions in force', { timeout }, () => {
  it('is 1 where no replica says anything: subjects and consumers have no number', async () => {
    await using house = await openHouse();
    await house.start();
    await using traffic = await openTraffic(house, 2);
    await traffic.announce(2);
    await traffic.delivered();
    const { streams, names } = await standing(house);
    expect(streams).toEqual([1, 1]);
    expect(names).toEqual(['webhook-fanout', 'webhook-deliver']);
  });

  it('stays where a replica has forgotten the setting: that replica reads its share, and is named', async () => {
    await using house = await openHouse();
    const first = await house.start({}, into(4));
    await using traffic = await openTraffic(house, 4);
    const forgetful = await house.start();
    await reads(forgetful, 2);
    await reads(first, 2);
    await traffic.announce(5);
    await traffic.delivered();
    expect((await standing(house)).streams).toEqual([4, 4]);
    const note =
      'A replica has no DELIVERY_PARTITIONS (1 partition), where NATS has 4 partitions of BUNDLES, DELIVERIES; ' +
      'it changed nothing.';
    await eventually(
      () => notes(house),
      (text) => text.includes(note),
    );
  });

  it('is not lowered by a replica that says fewer, and by an operator only where that is said too', async () => {
    await using house = await openHouse();
    const first = await house.start({}, into(4));
    await first[Symbol.asyncDispose]();
    await house.start({}, into(2));
    expect((await standing(house)).streams).toEqual([4, 4]);
    const apply = (more: Record<string, string>) =>
      runOps(['streams', '--apply'], { NATS_URL: house.nats.url, ...into(2), ...more });
    const refused = await apply({});
    expect(refused.stdout).toContain(
      'BUNDLES has 4 partitions, where DELIVERY_PARTITIONS says 2 partitions.',
    );
    expect((await standing(house)).streams).toEqual([4, 4]);

    await using traffic = await openTraffic(house, 4);
    {
      await using _traffic = traffic.announceOn();
      await traffic.receiver.received(10, { withinMs: patienceMs });
      expect((await apply({ STREAMS_MAY_SHRINK: 'true' })).code).toBe(0);
      expect((await standing(house)).streams).toEqual([2, 2]);
      await pause(1_000);
    }
    await traffic.delivered();
    expect(await traffic.doubles()).toEqual([]);
    expect(traffic.fannedOut).toEqual(traffic.announced);
  });
});

it('a replica that reads no partition is ready', { timeout }, async () => {
  await using house = await openHouse();
  const replicas = [
    await house.start({}, into(2)),
    await house.start({}, into(2)),
    await house.start({}, into(2)),
  ];
  await eventually(
    async () => (await Promise.all(replicas.map(readBy))).toSorted((one, other) => one - other),
    (read) => read.join() === '0,1,1',
    patienceMs,
  );
  // Any of them answers.
  for (let n = 0; n < 30; n += 1) {
    const { body } = await house.bus.request('svc.webhooks.health.check', { timeoutMs: 5_000 });
    expect(Buffer.from(body).toString()).toBe('{"status":"ok"}');
  }
});

it('EVENTS is not divided, and other services read there what they always have', { timeout }, async () => {
  await using house = await openHouse();
  await house.start({}, into(4));
  const client = house.newClient();
  const [id = ''] = await client.announce(1);
  const subject = `events.${client.integration}.supplier.created`;
  const [stored] = await Array.fromAsync(
    house.bus.readStream('EVENTS', { subject: 'events.>', from: { sequence: 1 } }),
  );
  expect(stored).toMatchObject({ subject, id });
});
