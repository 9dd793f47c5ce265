// What happens to deliveries that the replica cannot set aside.
import { openLog } from '@integration-sync/runtime/log';
import { expect, it } from 'vitest';
import type { Delivery } from '../../../services/webhooks/src/streams/messages.ts';
import { openLeases, type Lease } from '../../../services/webhooks/src/streams/leases.ts';
import { openRetry } from '../../../services/webhooks/src/tools/retry.ts';
import { openSetAside } from '../../../services/webhooks/src/retrying/set-aside.ts';
import { eventually } from '../../support/eventually.ts';
import { deliveryFor, messageFor } from '../../support/webhook-parts.ts';

const log = openLog({ service: 'test', level: 'silent' });

function openHouse(putAll: (deliveries: readonly Delivery[]) => Promise<void>) {
  const stopping = new AbortController();
  const leases = openLeases();
  const setAside = openSetAside({
    held: { putAll },
    owners: { ensure: async () => undefined },
    metrics: { setAside: () => undefined },
    retry: openRetry(log, stopping.signal),
    signal: stopping.signal,
    log,
  });
  const settled: string[] = [];
  let sequence = 0;
  const take = (name: string): Lease => {
    sequence += 1;
    const message = messageFor({
      id: name,
      sequence,
      ack: () => void settled.push(`${name} is settled`),
      nak: () => void settled.push(`${name} is given back`),
    });
    const lease = leases.take(message);
    if (lease === undefined) throw new Error('the message was not taken');
    return lease;
  };
  const put = (name: string): void => setAside.put(take(name), { ...deliveryFor('wh_1'), eventId: name });
  return { setAside, leases, stopping, settled, put, [Symbol.dispose]: () => leases[Symbol.dispose]() };
}

it('one that is never taken keeps its lease, and those that came with it do not', async () => {
  using house = openHouse(async (deliveries) => {
    if (deliveries.some(({ eventId }) => eventId === 'never')) throw new Error('not this one');
  });
  for (const name of ['one', 'never', 'two', 'three']) house.put(name);
  const others = ['one is settled', 'three is settled', 'two is settled'];
  await eventually(
    () => house.settled,
    (settled) => settled.length >= others.length,
  );
  expect(house.settled.toSorted()).toEqual(others);
  house.stopping.abort(new Error('the process stops'));
});

it('a stop does not wait for a refused delivery, and gives it back', async () => {
  using house = openHouse(() => Promise.reject(new Error('nothing is taken')));
  for (let count = 0; count < 5_000; count += 1) house.put(`number ${count}`);
  const room = house.setAside.room('shared');
  expect(room).toBeInstanceOf(Promise);
  house.stopping.abort(new Error('the process stops'));
  await room;
  await house.setAside.settled();
  expect(house.settled).toEqual([]);
  house.leases.giveBackAll();
  expect(new Set(house.settled)).toContain('number 4999 is given back');
  expect(house.settled).toHaveLength(5_000);
});
