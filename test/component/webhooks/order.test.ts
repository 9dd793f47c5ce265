// The order of an integration's events where a replica is killed that had many of them in hand.
import { expect, inject, it } from 'vitest';
import { openMongodbProxy } from '../../support/mongodb-proxy.ts';
import { into, openTraffic, patienceMs, reads, timeout } from '../../support/partitions.ts';
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
