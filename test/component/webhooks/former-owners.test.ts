// A replica that has lost a partition to another replica and has not noticed yet.
import { partitionOf } from '@integration-sync/contracts';
import { expect, it } from 'vitest';
import type { ActiveIntegration } from '../../../services/webhooks/src/delivering/owned-integrations.ts';
import type { StoredOffset } from '../../../services/webhooks/src/log/offsets.ts';
import {
  disabling,
  openEndpoints,
  openRevisions,
} from '../../../services/webhooks/src/endpoints/endpoint-store.ts';
import { OwnedPartitions } from '../../../services/webhooks/src/owning/ownership.ts';
import { batchOf, openEndpoint, openIntegrations } from '../../support/webhook-parts.ts';
import { openHouse, type House } from '../../support/webhooks.ts';

const partition = partitionOf('acme');

/** A replica that takes itself for the owner, with three events for the endpoint. */
async function openOwner({ store }: House, term: number, offset?: StoredOffset) {
  const active = new Map<string, ActiveIntegration>();
  const owned = new OwnedPartitions({ isHeard: true, gaps: 0 });
  const claim = { partition, term, floor: 0, stream: 'one', through: 0 };
  owned.set(partition, claim);
  const integrations = openIntegrations({
    active,
    owned,
    revisions: openRevisions(store),
    endpoints: await openEndpoints(store),
  });
  if (offset !== undefined) await integrations.begin(new Map([['acme', new Map([['wh_1', offset]])]]));
  await integrations.take([1, 2, 3].map((sequence) => batchOf(sequence, 1, { partition })));
  return {
    hearOfChange: () => integrations.refresh('acme', 'wh_1'),
    /** The offset of the endpoint in memory. */
    offset: () => active.get('acme')?.queues.get('wh_1')?.offset(0, 0),
    deliverAll(): void {
      const queue = active.get('acme')?.queues.get('wh_1');
      for (let step = queue?.next(0, 8); step?.kind === 'deliver'; step = queue?.next(0, 8)) {
        queue?.begin(step.delivery, 0);
        queue?.finish(step.delivery);
      }
    },
  };
}

it.each([
  ['first', ['former', 'present']],
  ['last', ['present', 'former']],
] as const)(
  'a replica that lost a partition and learns %s that an endpoint was disabled does not store an event as missed that the new owner delivered',
  async (_, order) => {
    await using house = await openHouse();
    const endpoints = await openEndpoints(house.store);
    await endpoints.insert(openEndpoint('wh_1'));
    await openRevisions(house.store).changed('acme');
    const owners = { former: await openOwner(house, 1), present: await openOwner(house, 2) };
    owners.present.deliverAll();
    const stored = async () => (await endpoints.find('wh_1'))?.missed?.[0];
    const read = await endpoints.find('wh_1');
    if (read === null) throw new Error('there is none');
    await endpoints.change(
      read,
      disabling(read, { reason: 'manual', failures: 0, at: new Date(), missed: null }),
    );

    for (const one of order) {
      await owners[one].hearOfChange();
      await expect.poll(stored).not.toBeNull();
    }

    await expect.poll(stored).toMatchObject({ sequence: 4, open: [] });
  },
);

it('an owner begins at an offset of the present epoch, and ignores an offset of a former epoch', async () => {
  await using house = await openHouse();
  await (await openEndpoints(house.store)).insert({ ...openEndpoint('wh_1'), epoch: 1 });
  await openRevisions(house.store).changed('acme');
  const offset = { sequence: 3, index: 0, open: [] };
  expect((await openOwner(house, 1, { ...offset, epoch: 1 })).offset()).toMatchObject({ sequence: 3 });
  expect((await openOwner(house, 2, { ...offset, epoch: 0 })).offset()).toMatchObject({ sequence: 1 });
});
