// The events of an integration where a replica is killed that had many of them in hand: their order, or that none is lost.
import { expect, inject, it } from 'vitest';
import { freeze } from '../../support/freeze.ts';
import { openMongodbProxy } from '../../support/mongodb-proxy.ts';
import { into, openTraffic, patienceMs, reads, sorted, timeout } from '../../support/partitions.ts';
import { pause } from '../../support/pause.ts';
import { startWebhookProcess } from '../../support/webhook-process.ts';
import { openHouse } from '../../support/webhooks.ts';

// Setup: two replicas, one of which waits for its database, takes bundles meanwhile, and is killed then.
// What this proves: nats-server hands out again in their order what it took long before it died and what it took just before.
it('stays where a replica is killed that waits for its database', { timeout }, async () => {
  await using house = await openHouse();
  await using proxy = await openMongodbProxy(inject('engines').mongodb);
  const throughProxy = { ...house.environment, ...into(2), MONGODB_URL: proxy.url };
  await using killed = await startWebhookProcess(throughProxy);
  const other = await house.start({}, into(2));
  await using traffic = await openTraffic(house, 2);
  await reads(other, 1);
  {
    await using _traffic = traffic.announceOn();
    await traffic.receiver.received(20, { withinMs: patienceMs });
    await proxy.holdNext('find', 'webhook_revisions');
    await pause(1_300);
    await killed.kill();
    await reads(other, 2);
    await pause(500);
  }
  await traffic.delivered();
  expect(traffic.fannedOut).toEqual(traffic.announced);
});

// Setup: the same, but the replica stands still for a while and is killed just after it goes on. nats-server has sent bundles
// that the replica has not read and does not extend, so that these lapse first, and receivers are promised no order.
// What this proves: each event is fanned out and delivered all the same.
it('nothing is lost where a replica stands still and is killed as it goes on', { timeout }, async () => {
  await using house = await openHouse();
  await using proxy = await openMongodbProxy(inject('engines').mongodb);
  const throughProxy = { ...house.environment, ...into(2), MONGODB_URL: proxy.url };
  await using killed = await startWebhookProcess(throughProxy);
  const other = await house.start({}, into(2));
  await using traffic = await openTraffic(house, 2);
  await reads(other, 1);
  {
    await using _traffic = traffic.announceOn();
    await traffic.receiver.received(20, { withinMs: patienceMs });
    await proxy.holdNext('find', 'webhook_revisions');
    await pause(600);
    {
      using _still = await freeze([killed.pid]);
      await pause(700);
    }
    await pause(120);
    await killed.kill();
    await reads(other, 2);
    await pause(500);
  }
  await traffic.delivered();
  expect(sorted(traffic.fannedOut)).toEqual(sorted(traffic.announced));
});
