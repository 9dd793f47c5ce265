// How a replica gives partitions back.
import { expect, it, vi } from 'vitest';
import type { ActiveIntegration } from '../../../services/webhooks/src/delivering/owned-integrations.ts';
import { Scheduler } from '../../../services/webhooks/src/delivering/scheduler.ts';
import { openTakeover } from '../../../services/webhooks/src/delivering/takeover.ts';
import { pause } from '../../support/pause.ts';
import { batchOf, openEndpoint, queueOf } from '../../support/webhook-parts.ts';

/** An integration with an attempt in flight, of which `handBack` stores the offset. */
function setUp(handBack = async () => undefined) {
  const attempts = new AbortController();
  const { queue, window } = queueOf(openEndpoint('wh_1'), [batchOf(1, 2)], { cutOff: () => attempts.signal });
  const step = queue.next(0, 8);
  if (step.kind !== 'deliver') throw new Error(step.kind);
  const { delivery } = step;
  queue.begin(delivery, 0);
  const queues = new Map([[queue.id, queue]]);
  const integration: ActiveIntegration = { name: 'acme', partition: 0, window, queues, revision: undefined, readAt: 0, offsets: new Map(), attempts }; // oxfmt-ignore
  const made = vi.fn<() => Promise<void>>(async () => undefined);
  const scheduler = new Scheduler({ inFlightMax: 8, mayBegin: () => true });
  scheduler.start({ deliver: made, load: () => undefined });
  const happened: [what: string, atMs: number][] = [];
  const beganAt = performance.now();
  const note = (what: string): void => void happened.push([what, Math.round(performance.now() - beganAt)]);
  attempts.signal.addEventListener('abort', () => {
    note('cut off');
    queue.again(delivery, delivery.isTrial);
    scheduler.wake(queue);
  });
  const changes = openTakeover(
    { begin: async () => undefined, ofPartitions: () => [integration], end: () => note('ended') },
    {
      async handBack() {
        note(`stored with ${queue.inFlight} in flight`);
        await handBack();
      },
    },
    { add: async () => note('read again'), remove: async () => note('read no more') },
    { ended: async () => note('purged') },
    (woken) => scheduler.wake(woken),
    { info: (fields: object, text: string) => note(`logged ${JSON.stringify(fields)} ${text}`) },
  );
  return { queue, delivery, integration, made, happened, changes };
}

it('the release of a partition waits 500 ms for attempts in flight, cuts off the rest, and stores the offsets', async () => {
  const { changes, happened } = setUp();
  const onLeft = await changes.onReleased([]);
  onLeft();
  expect(happened).toEqual([
    ['read no more', 0],
    ['purged', 0],
    [
      'logged {"attempts":1} delivery attempts were cut off: the next owner of their partition repeats them',
      500,
    ],
    ['cut off', 500],
    ['stored with 0 in flight', 500],
    ['ended', 500],
  ]);
});

it('the release of a partition ends as soon as the last attempt in flight has ended', async () => {
  const { changes, happened, queue, delivery } = setUp();
  setTimeout(() => queue.finish(delivery), 100);
  await changes.onReleased([]);
  expect(happened.at(-1)?.[1]).toBeLessThan(120);
});

it('no attempt begins while a partition is being released, and the owner goes on if the offsets cannot be stored', async () => {
  const { changes, happened, queue, integration, made } = setUp(async () => {
    await pause(100);
    throw new Error('away');
  });
  const released = changes.onReleased([]);
  await pause(1);
  expect(queue.next(0, 8)).toEqual({ kind: 'nothing' });
  await expect(released).rejects.toThrow('away');
  expect([happened.at(-1)?.[0], integration.attempts.signal.aborted]).toEqual(['read again', false]);
  expect(made).not.toHaveBeenCalled();
  await vi.waitFor(() => expect(made).toHaveBeenCalledTimes(2));
});
