// The partitions of the log: each event is delivered once, while replicas come, stop, are killed and stand still. A replica
// that stops is in this process, one that is killed or frozen is a process of its own.
import { partitionsNumber } from '@integration-sync/contracts';
import { expect, it } from 'vitest';
import { freeze } from '../../support/freeze.ts';
import { startWebhookProcess } from '../../support/webhook-process.ts';
import { openHouse, type House } from '../../support/webhooks.ts';
import { openTraffic, ownedBy, owns, patienceMs, timeout } from '../../support/partitions.ts';
import { pause } from '../../support/pause.ts';

const integrations = 8;
const half = partitionsNumber / 2;
/** How many attempts hand-backs cut off: on a busy machine, the receiver may not answer within 500 ms. */
function cutOffBy({ lines }: House): number {
  const cutOff = lines
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => msg.startsWith('attempts cut off'));
  return cutOff.reduce((sum, { attempts }) => sum + attempts, 0);
}

/** By the replica that was killed or stood still, and by the one that owns the partition afterwards. */
const timesMax = 2;

it(
  'each event is delivered once while replicas start and stop, unless a stopping replica cuts off an attempt',
  { timeout },
  async () => {
    await using house = await openHouse();
    const first = await house.start();
    await using traffic = await openTraffic(house, integrations);
    {
      await using _traffic = traffic.announceOn();
      await owns(first, partitionsNumber);
      const second = await house.start();
      await owns(second, half);
      expect(await ownedBy(first)).toBe(half);
      await pause(500);
      await first[Symbol.asyncDispose]();
      await owns(second, partitionsNumber);
      const third = await house.start();
      await owns(third, half);
      await pause(500);
      await second[Symbol.asyncDispose]();
      await pause(500);
    }
    await traffic.delivered();
    const doubles = await traffic.doubles();
    expect(Math.max(0, ...doubles)).toBeLessThanOrEqual(timesMax);
    expect(doubles.length).toBeLessThanOrEqual(cutOffBy(house));
  },
);

it('no event is lost where a replica is killed', { timeout }, async () => {
  await using house = await openHouse();
  await using killed = await startWebhookProcess(house.environment);
  const other = await house.start();
  await using traffic = await openTraffic(house, integrations);
  await owns(other, half);
  {
    await using _traffic = traffic.announceOn();
    await traffic.receiver.received(10 * integrations, { withinMs: patienceMs });
    await killed.kill();
    await owns(other, partitionsNumber);
    await pause(500);
  }
  await traffic.delivered();
  expect(Math.max(0, ...(await traffic.doubles()))).toBeLessThanOrEqual(timesMax);
});

it('no event is lost where a replica is stopped and resumed', { timeout }, async () => {
  await using house = await openHouse();
  await using asleep = await startWebhookProcess(house.environment);
  const other = await house.start();
  await using traffic = await openTraffic(house, integrations);
  await owns(other, half);
  {
    await using _traffic = traffic.announceOn();
    await traffic.receiver.received(10 * integrations, { withinMs: patienceMs });
    {
      using _asleep = await freeze([asleep.pid]);
      await owns(other, partitionsNumber);
      await pause(3_000);
    }
    await owns(other, half);
    await pause(500);
  }
  await traffic.delivered();
  expect(Math.max(0, ...(await traffic.doubles()))).toBeLessThanOrEqual(timesMax);
});
