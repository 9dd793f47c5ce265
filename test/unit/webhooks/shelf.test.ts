// What becomes of deliveries that cannot be set aside.
import { openLog } from '@integration-sync/runtime/log';
import { expect, it } from 'vitest';
import type { Delivery } from '../../../services/webhooks/src/envelope.ts';
import { openHands, type InHand } from '../../../services/webhooks/src/hands.ts';
import { openPersistence } from '../../../services/webhooks/src/persistence.ts';
import { openShelf } from '../../../services/webhooks/src/shelf.ts';
import { eventually } from '../../support/eventually.ts';
import { deliveryFor } from '../../support/webhook-parts.ts';

const log = openLog({ service: 'test', level: 'silent' });

function openHouse(putAll: (deliveries: readonly Delivery[]) => Promise<void>) {
  const stopping = new AbortController();
  const hands = openHands();
  const shelf = openShelf({
    held: { putAll },
    keepers: { ensure: async () => undefined },
    numbers: { setAside: () => undefined },
    persist: openPersistence(log, stopping.signal),
    signal: stopping.signal,
    log,
  });
  const settled: string[] = [];
  const take = (name: string): InHand =>
    hands.take({
      subject: 'deliveries.acme',
      id: name,
      headers: new Map(),
      body: new Uint8Array(),
      sequence: 1,
      deliveries: 1,
      storedAt: new Date(),
      ack: () => void settled.push(`${name} is settled`),
      nak: () => void settled.push(`${name} is given back`),
      working: () => undefined,
      term: () => undefined,
    });
  const put = (name: string): void => shelf.put(take(name), { ...deliveryFor('wh_1'), eventId: name });
  return { shelf, hands, stopping, settled, put, [Symbol.dispose]: () => hands[Symbol.dispose]() };
}

it('one that is never taken stays in hand, and those that came with it do not', async () => {
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

it('a stop waits for nothing that is refused, and gives it back', async () => {
  using house = openHouse(() => Promise.reject(new Error('nothing is taken')));
  for (let count = 0; count < 5_000; count += 1) house.put(`number ${count}`);
  const room = house.shelf.room();
  expect(room).toBeInstanceOf(Promise);
  house.stopping.abort(new Error('the process stops'));
  await room;
  await house.shelf.settled();
  expect(house.settled).toEqual([]);
  house.hands.giveBackAll();
  expect(new Set(house.settled)).toContain('number 4999 is given back');
  expect(house.settled).toHaveLength(5_000);
});
