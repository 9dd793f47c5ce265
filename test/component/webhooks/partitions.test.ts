// Events and deliveries in partitions: each is fanned out in the order of its integration and delivered once, while replicas
// come, stop, are killed and stand still. A replica that stops is in this process, one that is killed or frozen is a process
// of its own.
import { describe, expect, it } from 'vitest';
import { freeze } from '../../support/freeze.ts';
import { startWebhookProcess } from '../../support/webhook-process.ts';
import { openHouse } from '../../support/webhooks.ts';
import {
  inForce,
  into,
  nothingLeft,
  openTraffic,
  patienceMs,
  readBy,
  reads,
  sorted,
  timeout,
} from '../../support/partitions.ts';
import { pause } from '../../support/pause.ts';

/**
 * By the replica that was killed or stood still; by the one that is handed its parcel; and where that replica had its bundle in
 * hand as well, by the one that fans the bundle out again, together with other events and so in another parcel.
 */
const timesMax = 3;

describe.each([2, 4])('with %i partitions', { timeout }, (number) => {
  it('each event goes out once, in the order of its integration, while replicas come and stop', async () => {
    await using house = await openHouse();
    const first = await house.start({}, into(number));
    await using traffic = await openTraffic(house, number);
    {
      await using _traffic = traffic.announceOn();
      await reads(first, number);
      const second = await house.start({}, into(number));
      await reads(second, number / 2);
      expect(await readBy(first)).toBe(number / 2);
      await pause(500);
      await first[Symbol.asyncDispose]();
      await reads(second, number);
      const third = await house.start({}, into(number));
      await reads(third, number / 2);
      await pause(500);
      await second[Symbol.asyncDispose]();
      await pause(500);
    }
    await traffic.delivered();
    expect(await traffic.doubles()).toEqual([]);
    expect(traffic.fannedOut).toEqual(traffic.announced);
    expect(await inForce(house)).toEqual([number, number]);
    await nothingLeft(house);
  });

  // In no order: messages that nats-server has sent to the killed replica, and that it has not read, are redelivered first.
  it('each event goes out where a replica is killed', async () => {
    await using house = await openHouse();
    await using killed = await startWebhookProcess({ ...house.environment, ...into(number) });
    const other = await house.start({}, into(number));
    await using traffic = await openTraffic(house, number);
    await reads(other, number / 2);
    {
      await using _traffic = traffic.announceOn();
      await traffic.receiver.received(10 * number, { withinMs: patienceMs });
      await killed.kill();
      await reads(other, number);
      await pause(500);
    }
    await traffic.delivered();
    expect(sorted(traffic.fannedOut)).toEqual(sorted(traffic.announced));
    expect(Math.max(0, ...(await traffic.doubles()))).toBeLessThanOrEqual(timesMax);
  });

  it('no event is lost where a replica stands still and wakes', async () => {
    await using house = await openHouse();
    await using asleep = await startWebhookProcess({ ...house.environment, ...into(number) });
    const other = await house.start({}, into(number));
    await using traffic = await openTraffic(house, number);
    await reads(other, number / 2);
    {
      await using _traffic = traffic.announceOn();
      await traffic.receiver.received(10 * number, { withinMs: patienceMs });
      {
        using _asleep = await freeze([asleep.pid]);
        await reads(other, number);
        await pause(3_000);
      }
      await reads(other, number / 2);
      await pause(500);
    }
    await traffic.delivered();
    expect(Math.max(0, ...(await traffic.doubles()))).toBeLessThanOrEqual(timesMax);
  });
});
