// What a replica tells the next owner of events that were in flight when it gave their partition back.
import { expect, it } from 'vitest';
import type { Delivery, EndpointQueue } from '../../../services/webhooks/src/delivering/endpoint-queue.ts';
import { openTakeover } from '../../../services/webhooks/src/delivering/takeover.ts';
import { batchOf, openEndpoint, queueOf } from '../../support/webhook-parts.ts';

const point = { sequence: 1, index: 0 };

/** The points that are told as finished, where that happens between the stored offset and the end of the queue. */
async function toldAfter(happens: (queue: EndpointQueue, delivery: Delivery) => void) {
  const { queue } = queueOf(openEndpoint('wh_1'), [batchOf(1, 2)]);
  const step = queue.next(0, 8);
  if (step.kind !== 'deliver') throw new Error(step.kind);
  queue.begin(step.delivery, 0);
  const told: unknown[] = [];
  const changes = openTakeover(
    {
      begin: async () => undefined,
      ofPartitions: () => [],
      end: () => undefined,
      freeFrom: () => undefined,
    },
    {
      async handOver() {
        return [{ queue, point, epoch: 0 }];
      },
    },
    { add: async () => undefined, remove: async () => undefined },
    async (_queue, finished) => {
      told.push(finished);
    },
  );
  const onLeft = await changes.onReleased([]);
  happens(queue, step.delivery);
  await onLeft();
  return told;
}

it('tells an event that was finished meanwhile, and none that is still in flight', async () => {
  expect(await toldAfter((queue, delivery) => queue.finish(delivery))).toEqual([point]);
  expect(await toldAfter(() => undefined)).toEqual([]);
});

it('tells no event that its endpoint misses, as it was disabled meanwhile', async () => {
  expect(
    await toldAfter((queue) => {
      queue.subscriber = { ...queue.subscriber, epoch: 1 };
      queue.reset(3);
    }),
  ).toEqual([]);
});
