// The events of integrations whose owner is killed while it waits for its database, or as it goes on after a standstill: each
// comes.
import { partitionsNumber } from '@integration-sync/contracts';
import { expect, inject, it } from 'vitest';
import { freeze } from '../../support/freeze.ts';
import { openMongodbProxy } from '../../support/mongodb-proxy.ts';
import { openTraffic, owns, patienceMs, timeout } from '../../support/partitions.ts';
import { pause } from '../../support/pause.ts';
import { startWebhookProcess, type WebhookProcess } from '../../support/webhook-process.ts';
import { openHouse } from '../../support/webhooks.ts';

it.each([
  ['waits for its database', async () => pause(1_300)],
  [
    'goes on after a standstill',
    async (killed: WebhookProcess) => {
      await pause(600);
      {
        using _still = await freeze([killed.pid]);
        await pause(700);
      }
      await pause(120);
    },
  ],
])('each event is delivered although a replica is killed that %s', { timeout }, async (_what, until) => {
  await using house = await openHouse();
  await using proxy = await openMongodbProxy(inject('engines').mongodb);
  await using killed = await startWebhookProcess({ ...house.environment, MONGODB_URL: proxy.url });
  const other = await house.start();
  await using traffic = await openTraffic(house, 8);
  await owns(other, partitionsNumber / 2);
  {
    await using _traffic = traffic.announceOn();
    await traffic.receiver.received(20, { withinMs: patienceMs });
    await proxy.holdNext('find', 'webhook_revisions');
    await until(killed);
    await killed.kill();
    await owns(other, partitionsNumber);
    await pause(500);
  }
  await traffic.delivered();
  expect(traffic.receiver.hits.length).toBeGreaterThan(20);
});
