// Which offsets a replica stores, and when.
import { openLog } from '@integration-sync/runtime/log';
import { expect, it } from 'vitest';
import type { EndpointQueue } from '../../../services/webhooks/src/delivering/endpoint-queue.ts';
import type { ActiveIntegration } from '../../../services/webhooks/src/delivering/owned-integrations.ts';
import { Progress } from '../../../services/webhooks/src/delivering/progress.ts';
import type { StoredOffset } from '../../../services/webhooks/src/log/offsets.ts';
import { OwnedPartitions } from '../../../services/webhooks/src/owning/ownership.ts';
import { eventually } from '../../support/eventually.ts';
import { pause } from '../../support/pause.ts';
import { batchOf, openEndpoint, queueOf } from '../../support/webhook-parts.ts';

/** One endpoint with an event in flight; `saved` has every offset of it that was stored. */
function setUp(onSave = (_progress: Progress, _queue: EndpointQueue): Promise<void> | void => undefined) {
  const { queue, window } = queueOf(openEndpoint('wh_1'), [batchOf(1, 2)]);
  const saved: (StoredOffset | undefined)[] = [];
  const owned = new OwnedPartitions({ isHeard: true, gaps: 0 });
  const floors: number[] = [];
  const terms: { _id: string; partition: number; term: number }[] = [];
  owned.set(0, { partition: 0, term: 1, floor: 0, stream: 'one', through: 1 });
  const integration: ActiveIntegration = {
    name: 'acme',
    partition: 0,
    window,
    queues: new Map([[queue.id, queue]]),
    revision: 'one',
    readAt: 0,
    offsets: new Map(),
    attempts: new AbortController(),
  };
  const active = new Map([['acme', integration]]);
  const progress = new Progress({
    active,
    owned,
    claims: { saveFloors: async (saving) => void floors.push(...saving.map(({ floor }) => floor)) },
    offsets: {
      async save(_name, _by, offsets) {
        saved.push(offsets.get(queue.id));
        await onSave(progress, queue);
      },
      termsIn: async () => terms,
    },
    stream: { facts: { id: 'one', createdAt: 'one', firstSequence: 1, lastSequence: 1 } },
    onDropped: () => undefined,
    log: openLog({ service: 'test', level: 'silent' }),
  });
  begin(queue);
  progress.touch(queue);
  return { queue, active, integration, progress, saved, owned, terms, floors };
}

function begin(queue: EndpointQueue): void {
  const step = queue.next(performance.now(), 8);
  if (step.kind !== 'deliver') throw new Error(step.kind);
  queue.begin(step.delivery, performance.now());
}

/** Delivers both events of the endpoint, of which the first is in flight. */
function catchUp(queue: EndpointQueue): void {
  begin(queue);
  for (const index of [0, 1]) {
    const delivery = queue.find({ sequence: 1, index });
    if (delivery !== undefined) queue.finish(delivery);
  }
}

it('the floor passes an undelivered event once the offset of its endpoint is stored', async () => {
  const { progress, saved, floors } = setUp();
  await using _progress = progress;
  await eventually(() => floors.length, Boolean);
  expect([floors, saved]).toEqual([[0], []]);
  await eventually(
    () => floors,
    (all) => all.includes(1),
  );
  expect([floors, saved.length]).toEqual([[0, 1], 1]);
});

it('the offset of an endpoint is stored once one event is undelivered for 300 ms', async () => {
  const { progress, saved } = setUp();
  await using _progress = progress;
  await pause(150);
  expect([saved, progress.behind]).toEqual([[], 0]);
  await eventually(() => saved.length, Boolean);
  expect([saved[0]?.open, progress.behind]).toMatchObject([[{ sequence: 1, index: 0, attempts: 0 }], 1]);
});

it('after an attempt the offset is stored at the next check, and again if an attempt ends during the write', async () => {
  let isFirst = true;
  const { queue, progress, saved } = setUp((storing, of) => {
    if (isFirst) storing.storeSoon(of);
    isFirst = false;
  });
  await using _progress = progress;
  progress.storeSoon(queue);
  await pause(150);
  expect(saved).toHaveLength(1);
  await pause(100);
  expect(saved).toHaveLength(2);
  await pause(500);
  expect(saved).toHaveLength(2);
});

it('an owner that has stored its last offset, for the next owner, stores no other, also if an earlier write failed', async () => {
  let fails = 1;
  const { queue, integration, progress, saved } = setUp(() => {
    fails -= 1;
    if (fails === 0) throw new Error('away');
  });
  await using _progress = progress;
  progress.storeSoon(queue);
  await pause(110);
  expect(saved.splice(0)).toHaveLength(1);
  await progress.handBack([integration]);
  await pause(500);
  expect(saved).toMatchObject([{ open: [{ sequence: 1, index: 0, attempts: 0 }] }]);
});

it('a queue of an earlier claim, which has ended, does not remove the offset that is stored for the next owner', async () => {
  const { integration, progress, saved } = setUp();
  await using _progress = progress;
  const { queue: earlier } = queueOf(openEndpoint('wh_1'), [batchOf(1, 2)]);
  progress.touchBehind(earlier);
  earlier.isEnded = true;
  await progress.handBack([integration]);
  await pause(500);
  expect(saved.at(-1)).toMatchObject({ open: [{ sequence: 1, index: 0, attempts: 0 }] });
});

it('a partition that is claimed again keeps its stored offsets until its endpoints are read', async () => {
  const { queue: earlier, active, integration, progress, saved } = setUp();
  await using _progress = progress;
  progress.touchBehind(earlier);
  earlier.isEnded = true;
  const again: ActiveIntegration = { ...integration, revision: undefined, queues: new Map() };
  active.set('acme', again);
  await pause(500);
  expect(saved).toEqual([]);
  const { queue } = queueOf(openEndpoint('wh_1'), [batchOf(1, 2)]);
  again.queues.set(queue.id, queue);
  progress.touchBehind(queue);
  again.revision = 'one';
  await pause(150);
  expect(saved).toMatchObject([{ sequence: 1, index: 0 }]);
});

it('the offsets of many integrations are stored for the next owner in less time than single writes would take', async () => {
  const { active, integration, progress, saved } = setUp(() => pause(10));
  await using _progress = progress;
  for (let n = 1; n < 160; n += 1) active.set(`acme-${n}`, { ...integration, name: `acme-${n}` });
  const beganAt = performance.now();
  await progress.handBack([...active.values()]);
  expect([saved.length, performance.now() - beganAt]).toEqual([160, 100]);
});

it('a write of the offset of one endpoint also keeps the offset of an endpoint that has not caught up', async () => {
  const { queue, integration, progress, saved } = setUp();
  await using _progress = progress;
  const { queue: other } = queueOf(openEndpoint('wh_2'), [batchOf(1, 2)]);
  integration.queues.set(other.id, other);
  begin(other);
  progress.touchBehind(queue);
  progress.touch(other);
  progress.storeSoon(other);
  await pause(150);
  expect(saved).toMatchObject([{ open: [{ sequence: 1, index: 0 }] }]);
});

it('an integration whose endpoint has caught up stays in memory until the stored offset is removed', async () => {
  const followed: boolean[] = [];
  const { queue, integration, progress, saved } = setUp(
    (one) => void followed.push(one.follows(integration)),
  );
  await using _progress = progress;
  progress.touchBehind(queue);
  catchUp(queue);
  expect([queue.firstUndelivered(), progress.follows(integration)]).toEqual([Infinity, true]);
  await eventually(
    () => progress.follows(integration),
    (follows) => !follows,
  );
  expect([saved, followed]).toEqual([[undefined], [true]]);
});

it('an offset that was stored although the write reported a failure is removed', async () => {
  let fails = 1;
  const { queue, integration, progress, saved } = setUp(() => {
    fails -= 1;
    if (fails === 0) throw new Error('stored, and the answer was lost');
  });
  await using _progress = progress;
  progress.storeSoon(queue);
  await eventually(() => saved.length, Boolean);
  catchUp(queue);
  await eventually(
    () => progress.follows(integration),
    (follows) => !follows,
  );
  expect(saved.at(-1)).toBe(undefined);
});

it('an offset that was stored for the next owner is removed if the release of the partition failed', async () => {
  let fails = 1;
  const { queue, integration, progress, saved } = setUp(() => {
    fails -= 1;
    if (fails === 0) throw new Error('stored, and the answer was lost');
  });
  await using _progress = progress;
  await expect(progress.handBack([integration])).rejects.toThrow('the answer was lost');
  expect(saved).toMatchObject([{ open: [{ sequence: 1, index: 0 }] }]);
  catchUp(queue);
  await eventually(
    () => saved.at(-1),
    (offset) => offset === undefined,
  );
  expect([saved.length, progress.follows(integration)]).toEqual([2, false]);
});

it('an offset that a former owner has stored late is removed, but no offset of a later owner', async () => {
  const { queue, progress, saved, terms } = setUp();
  await using _progress = progress;
  terms.push({ _id: 'acme', partition: 0, term: 0 });
  await pause(61_000);
  expect(saved.map((offset) => offset?.sequence)).toEqual([1]);
  catchUp(queue);
  await pause(1_000);
  expect(saved.splice(0)).toHaveLength(2);
  await pause(61_000);
  expect(saved.splice(0)).toEqual([undefined]);
  terms.splice(0, 1, { _id: 'acme', partition: 0, term: 2 });
  await pause(121_000);
  expect(saved).toEqual([]);
});

it('the offsets of a partition that was just claimed are kept until its queues are open', async () => {
  const { queue, integration, progress, saved, owned, terms } = setUp();
  await using _progress = progress;
  integration.queues.clear();
  queue.isEnded = true;
  terms.push({ _id: 'acme', partition: 0, term: 0 });
  await pause(29_000);
  owned.set(0, { partition: 0, term: 2, floor: 0, stream: 'one', through: 1 });
  await pause(30_000);
  expect(saved).toEqual([]);
  await pause(2_000);
  expect(saved).toEqual([undefined]);
});

it('the floor stays before events from after an enabling, although the endpoint was behind before it was disabled', async () => {
  const { queue, progress, saved, floors, owned, integration } = setUp();
  await using _progress = progress;
  await eventually(
    () => floors,
    (all) => all.includes(1),
  );
  queue.state = { ...queue.state, epoch: 2 };
  queue.reset(2);
  integration.window.add(batchOf(2, 1));
  const claim = owned.get(0);
  if (claim !== undefined) claim.through = 2;
  const before = saved.length;
  await eventually(
    () => floors,
    (all) => all.includes(2),
  );
  expect(saved.slice(before).map((offset) => offset?.epoch)).toEqual([undefined, 2]);
});
