import { Failure } from '@integration-sync/contracts';
import { openLog } from '@integration-sync/runtime/log';
import { expect, it } from 'vitest';
import type { Announcement } from '../../../shared/sync/src/announcing/announcement.ts';
import { openAnnouncer } from '../../../shared/sync/src/announcing/announcer.ts';

const of = (syncId: string, records: Announcement['records'] = []): Announcement => ({
  syncId,
  action: 'push',
  integration: 'acme',
  entityType: 'supplier',
  counts: { created: 0, updated: 0, unchanged: 0, failed: 0 },
  startedAt: new Date(0),
  completedAt: new Date(0),
  records,
});

const away = (): Promise<never> => Promise.reject(new Failure('unavailable', 'no leader'));

function setUp(
  publish: (id: string, of: 'events' | 'batches') => Promise<void>,
  mark: () => Promise<void> = async () => {},
) {
  const published: string[] = [];
  const marked: string[][] = [];
  const left: string[] = [];
  const announcer = openAnnouncer({
    bus: {
      async publishBatch([first]) {
        const isBatch = first?.subject.startsWith('event-batches.') ?? true;
        await publish(first?.id ?? '', isBatch ? 'batches' : 'events');
        if (!isBatch) published.push(first?.id.replace('-completed', '') ?? '');
        return [];
      },
    },
    journal: {
      async markAnnounced(syncIds) {
        marked.push([...syncIds]);
        await mark();
      },
      async leave(syncIds, owner) {
        expect(owner).toBe('me');
        left.push(...syncIds);
      },
    },
    service: 'catalog',
    owner: 'me',
    log: openLog({ service: 'test', level: 'silent' }),
    now: () => 0,
    reach: async () => {},
  });
  return { announcer, published, marked, left };
}

it('the announcer publishes all events, marks announced pushes, and completes when it is closed', async () => {
  const { announcer, published, marked } = setUp(() => new Promise((resolve) => setTimeout(resolve, 1)));
  const ids = Array.from({ length: 40 }, (_, index) => `s${index}`);
  for (const id of ids) announcer.announce(of(id));
  await announcer[Symbol.asyncDispose]();
  expect(published.toSorted()).toEqual(ids.toSorted());
  expect(marked.flat().toSorted()).toEqual(ids.toSorted());
});

it('a push is announced soon although many pushes of another integration wait', async () => {
  const { announcer, published } = setUp(() => new Promise((resolve) => setTimeout(resolve, 5)));
  for (let index = 0; index < 40; index += 1) announcer.announce(of(`s${index}`));
  announcer.announce({ ...of('rival'), integration: 'rival' });
  await announcer[Symbol.asyncDispose]();
  expect(published).toHaveLength(41);
  expect(published.indexOf('rival')).toBeLessThan(10);
});

it('the announcer marks in one update all pushes that were announced during the previous update in MongoDB', async () => {
  const { announcer, marked } = setUp(
    async () => {},
    () => new Promise((resolve) => setTimeout(resolve, 5)),
  );
  for (let index = 0; index < 40; index += 1) announcer.announce(of(`s${index}`));
  await announcer[Symbol.asyncDispose]();
  expect(marked.flat()).toHaveLength(40);
  expect(marked.length).toBeLessThan(10);
});

it('the announcer goes on after a push that could not be published or marked, and the journal entry of that push stays due', async () => {
  let marks = 0;
  const { announcer, published, marked } = setUp(
    (id) => (id === 's1-completed' ? Promise.reject(new Error('away')) : Promise.resolve()),
    () => ((marks += 1) === 1 ? Promise.reject(new Error('away')) : Promise.resolve()),
  );
  for (const id of ['s0', 's1', 's2']) announcer.announce(of(id));
  await announcer[Symbol.asyncDispose]();
  expect(published.toSorted()).toEqual(['s0', 's2']);
  expect(marked.flat()).not.toContain('s1');
});

it('the announcer accepts a bounded number of records while NATS does not answer', async () => {
  const record = {
    ordinal: 0,
    internalId: 'i',
    externalId: 'e',
    outcome: { created: false, changed: [], drafted: false },
  };
  const records = Array.from({ length: 500 }, () => record);
  const bus = Promise.withResolvers<void>();
  const { announcer, published } = setUp(() => bus.promise);
  for (let index = 0; index < 500; index += 1) announcer.announce(of(`s${index}`, records));
  bus.resolve();
  await announcer[Symbol.asyncDispose]();
  expect(published.length).toBeLessThan(100);
});

it('the announcer accepts 1,500 to 2,500 small pushes while NATS does not answer, and no more', async () => {
  const bus = Promise.withResolvers<void>();
  const { announcer, published } = setUp(() => bus.promise);
  for (let index = 0; index < 5_000; index += 1) announcer.announce(of(`s${index}`));
  bus.resolve();
  await announcer[Symbol.asyncDispose]();
  expect(published.length).toBeGreaterThan(1_500);
  expect(published.length).toBeLessThan(2_500);
});

it('the announcer retries for some seconds while a NATS cluster has no leader', async () => {
  const beganMs = performance.now();
  const { announcer, published, marked } = setUp(() =>
    performance.now() - beganMs < 6_000 ? away() : Promise.resolve(),
  );
  for (const id of ['s0', 's1', 's2', 's3', 's4', 's5']) announcer.announce(of(id));
  await new Promise((resolve) => setTimeout(resolve, 7_000));
  expect(marked.flat()).toHaveLength(6);
  expect(published.toSorted()).toEqual(['s0', 's1', 's2', 's3', 's4', 's5']);
  await announcer[Symbol.asyncDispose]();
});

it('the announcer publishes each event once while EVENT_BATCHES has no leader', async () => {
  const beganMs = performance.now();
  const { announcer, published, marked } = setUp((_id, stream) =>
    stream === 'batches' && performance.now() - beganMs < 6_000 ? away() : Promise.resolve(),
  );
  const ids = Array.from({ length: 20 }, (_, index) => `s${index}`);
  for (const id of ids) announcer.announce(of(id));
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect(published).toEqual(ids);
  expect(marked).toEqual([]);
  await new Promise((resolve) => setTimeout(resolve, 7_000));
  expect(marked.flat().toSorted()).toEqual(ids.toSorted());
  expect(published).toEqual(ids);
  await announcer[Symbol.asyncDispose]();
});

it('the announcer stops publishing a push within 10 s, before another replica’s sweeper may take the push over', async () => {
  const triedAtMs: number[] = [];
  const { announcer, published, left } = setUp(() => {
    triedAtMs.push(performance.now());
    return away();
  });
  const beganMs = performance.now();
  expect(announcer.isHindered).toBe(false);
  announcer.announce(of('s0'));
  await new Promise((resolve) => setTimeout(resolve, 9_000));
  expect(left).toEqual([]);
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  expect(left).toEqual(['s0']);
  expect(announcer.isHindered).toBe(true);
  await new Promise((resolve) => setTimeout(resolve, 20_000));
  expect(announcer.isHindered).toBe(false);
  expect(Math.max(...triedAtMs) - beganMs).toBeGreaterThan(9_000);
  expect(Math.max(...triedAtMs) - beganMs).toBeLessThan(10_000);
  await announcer[Symbol.asyncDispose]();
  expect(published).toEqual([]);
});

it('the announcer ends immediately when it is closed while a cluster has no leader', async () => {
  const { announcer, left } = setUp(away);
  announcer.announce(of('s0'));
  const beganMs = performance.now();
  await announcer[Symbol.asyncDispose]();
  expect(performance.now() - beganMs).toBeLessThan(500);
  expect(left).toEqual(['s0']);
});

it('the announcer publishes a push that arrives while it closes', async () => {
  const { announcer, published } = setUp(async () => {});
  for (let index = 0; index < 50; index += 1) {
    announcer.announce(of(`s${index}`));
    for (let ticks = 0; ticks < index; ticks += 1) await Promise.resolve();
  }
  await announcer[Symbol.asyncDispose]();
  expect(published).toHaveLength(50);
});

it('the announcer does not publish a push that another replica may have announced', async () => {
  const triedAtMs: number[] = [];
  const beganMs = performance.now();
  const { announcer, left } = setUp(async () => {
    triedAtMs.push(performance.now() - beganMs);
    // A leader that stands still: each publish ends once its acks are overdue.
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    throw new Failure('unavailable', 'no ack');
  });
  const ids = Array.from({ length: 40 }, (_, index) => `s${index}`);
  for (const id of ids) announcer.announce(of(id));
  await new Promise((resolve) => setTimeout(resolve, 120_000));
  await announcer[Symbol.asyncDispose]();
  expect(left.toSorted()).toEqual(ids.toSorted());
  expect(Math.max(...triedAtMs)).toBeLessThan(10_000);
});
