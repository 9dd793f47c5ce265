// Who is next where places are few: integrations in turn, and there endpoints in turn.
import { expect, it } from 'vitest';
import type { EndpointQueue } from '../../../services/webhooks/src/delivering/endpoint-queue.ts';
import { Scheduler } from '../../../services/webhooks/src/delivering/scheduler.ts';
import { batchOf, openEndpoint, queueOf } from '../../support/webhook-parts.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Deliveries end when the test says so. */
function setUp(inFlightMax: number) {
  const begun: string[] = [];
  const ending = new Map<string, (() => void)[]>();
  let mayBegin = true;
  const scheduler = new Scheduler({ inFlightMax, mayBegin: () => mayBegin, now: () => 0 });
  scheduler.start({
    async deliver(queue, delivery) {
      begun.push(queue.id);
      const { promise, resolve } = Promise.withResolvers<void>();
      ending.set(queue.id, [...(ending.get(queue.id) ?? []), resolve]);
      await promise;
      queue.finish(delivery);
    },
    load: () => undefined,
  });
  const add = (id: string, integration: string, events: number): EndpointQueue => {
    const { queue } = queueOf({ ...openEndpoint(id), integration }, [batchOf(1, events)]);
    scheduler.wake(queue);
    return queue;
  };
  const end = async (id: string): Promise<void> => {
    ending.get(id)?.shift()?.();
    await turn();
    await turn();
  };
  const allow = (may: boolean): void => void (mayBegin = may);
  return { scheduler, begun, add, end, allow };
}

it('the scheduler begins eight deliveries of an endpoint, and the next delivery when one ends', async () => {
  const { scheduler, begun, add, end } = setUp(100);
  add('a', 'acme', 20);
  await turn();
  expect([begun.length, scheduler.inFlight]).toEqual([8, 8]);
  await end('a');
  expect([begun.length, scheduler.inFlight]).toEqual([9, 8]);
});

it('the scheduler takes integrations in turns, and endpoints of one integration in turns', async () => {
  const { begun, add } = setUp(6);
  for (const id of ['a1', 'a2', 'a3', 'a4', 'a5', 'a6']) add(id, 'acme', 5);
  add('b1', 'other', 5);
  await turn();
  expect(begun.slice(0, 3)).toEqual(['a1', 'b1', 'a2']);
});

it('the scheduler leaves permits to an integration without deliveries', async () => {
  const { scheduler, begun, add } = setUp(100);
  for (let n = 0; n < 100; n += 1) add(`a${n}`, 'acme', 8);
  await turn();
  expect(scheduler.inFlight).toBeLessThan(100);
  add('b', 'other', 1);
  await turn();
  expect(begun).toContain('b');
});

it('the scheduler gives each endpoint few permits where its integration has many endpoints', async () => {
  const { begun, add } = setUp(100);
  for (let n = 0; n < 80; n += 1) add(`a${n}`, 'acme', 8);
  await turn();
  const counts = Object.values(Object.groupBy(begun, (id) => id)).map((some) => some?.length ?? 0);
  expect(Math.max(...counts)).toBeLessThanOrEqual(3);
  expect(counts.length).toBeGreaterThan(60);
});

it('the scheduler begins no delivery while this replica is not sure of its ownership', async () => {
  const { begun, add, allow } = setUp(10);
  allow(false);
  add('a', 'acme', 1);
  await turn();
  expect(begun).toEqual([]);
  allow(true);
  await expect.poll(() => begun).toEqual(['a']);
});

it('a scheduler that closes waits for deliveries in flight, and begins no other delivery', async () => {
  const { scheduler, begun, add, end } = setUp(10);
  add('a', 'acme', 1);
  await turn();
  let isClosed = false;
  const closing = scheduler.close().then(() => (isClosed = true));
  add('b', 'acme', 1);
  await turn();
  expect([begun, isClosed]).toEqual([['a'], false]);
  await end('a');
  await closing;
  expect(begun).toEqual(['a']);
});
