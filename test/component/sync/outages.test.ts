// An engine goes away while pushes are under way, or an operator stops a service: no push that the service
// acknowledged is lost, and no caller waits for long.
import type { Engine } from '@integration-sync/dev/engines';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newSyncId } from '../../../shared/sync/src/ids.ts';
import type { Entry } from '../../../shared/sync/src/journal/journal-entry.ts';
import { openWatermarks, watermarkKey } from '../../../shared/sync/src/watermarks.ts';
import { ending } from '../../support/ending.ts';
import { awake } from '../../support/awake.ts';
import { eventually } from '../../support/eventually.ts';
import { writingEntry } from '../../support/journal-entries.ts';
import { startMongodb } from '../../support/mongodb.ts';
import { openWorld, type Caller, type SeenEvent, type World } from '../../support/sync.ts';

let mongodb: Engine;
let world: World;

beforeAll(async () => {
  mongodb = await startMongodb();
  world = await openWorld(mongodb.url);
  await world.startBatches();
});
// A failed test may have left them dead.
afterEach(async () => {
  await mongodb.resume();
  await world.nats.resume();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await mongodb[Symbol.asyncDispose]();
});
beforeEach((context) => {
  context.skip(mongodb.source === 'environment', 'the engine is not ours to take away');
});

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const completions = (events: readonly SeenEvent[]): SeenEvent[] =>
  events.filter(({ body }) => body.event === 'sync.completed');

/** Every record is announced and counted, and no push is still under way. */
async function expectSettled(caller: Caller, acknowledged: ReadonlySet<string>): Promise<void> {
  const runs = await eventually(
    () => caller.runs('limit=100').catch(() => undefined),
    (listed) => listed?.entities.every(({ state }) => state === 'completed') === true,
    30_000,
  );
  const events = await eventually(
    () => caller.events(),
    (all) => completions(all).length === runs?.total,
    30_000,
  );
  const records = await caller.listAll('suppliers');
  expect(acknowledged.difference(new Set(records.map(({ externalId }) => externalId)))).toEqual(new Set());
  const created = events.flatMap(({ body }) =>
    body.event === 'supplier.created' && 'internalId' in body.data ? [body.data.internalId] : [],
  );
  expect(created.toSorted()).toEqual(records.map(({ internalId }) => internalId).toSorted());
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  expect((await caller.list('suppliers')).total).toBe(records.length);
}

/** Pushes new records until a test disposes of it, whatever the answers. */
function startPushing(caller: Caller, pushers: number) {
  const acknowledged = new Set<string>();
  const failures: { code: unknown; tookMs: number }[] = [];
  const stop = new AbortController();
  const pushOn = async (pusher: number): Promise<void> => {
    for (let round = 0; !stop.signal.aborted; round += 1) {
      const items = range(50).map((nth) => ({ externalId: `${pusher}-${round}-${nth}`, name: 'N' }));
      const began = awake();
      try {
        await caller.push('suppliers', items);
        for (const { externalId } of items) acknowledged.add(externalId);
      } catch (error) {
        const code = error instanceof Error && 'code' in error ? error.code : error;
        failures.push({ code, tookMs: awake() - began });
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  };
  const pushing = Promise.all(range(pushers).map(pushOn));
  return {
    acknowledged,
    failures,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await pushing;
    },
  };
}

describe('a database that is killed under pushes', () => {
  it(
    'makes pushes fail with 503 within 3 s, loses no push that was answered 200, and accepts pushes within 15 s of its restart',
    { timeout: 180_000 },
    async () => {
      const caller = world.caller();
      await using _catalog = await world.startCatalog();
      await using pushers = startPushing(caller, 4);
      const { acknowledged, failures } = pushers;
      // More than the pushes that the service works on, whose callers may still get an answer.
      const more = 500;
      for (let kills = 0; kills < 2; kills += 1) {
        const before = acknowledged.size;
        await eventually(
          () => acknowledged.size,
          (size) => size > before + more,
          30_000,
        );
        const failed = failures.length;
        // MongoDB stays away until the service misses it: it may be back before one of the driver's tries.
        mongodb.hold();
        await mongodb.kill();
        await eventually(
          () => failures.length,
          (count) => count > failed,
        );
        await mongodb.resume();
      }
      const there = acknowledged.size;
      await eventually(
        () => acknowledged.size,
        (size) => size > there + more,
        15_000,
      );
      await pushers[Symbol.asyncDispose]();
      expect(new Set(failures.map(({ code }) => code))).toEqual(new Set(['unavailable']));
      expect(failures.filter(({ tookMs }) => tookMs > 3_000)).toEqual([]);
      await expectSettled(caller, acknowledged);
    },
  );

  it(
    'makes listings and the history of pushes fail with 503 until the database is back',
    { timeout: 60_000 },
    async () => {
      const caller = world.caller();
      await using _catalog = await world.startCatalog();
      await caller.push('suppliers', [{ externalId: 'a', name: 'N' }]);
      mongodb.hold();
      await mongodb.kill();
      const questions = () => [
        caller.list('suppliers'),
        caller.list('products'),
        caller.list('batches'),
        caller.dds(),
        caller.runs(),
        caller.push('products', []),
        caller.push('batches', [{ externalId: 'b', productExternalId: 'p', batchNumber: 'B' }]),
        world.bus.request('svc.catalog.health.check', { timeoutMs: 5_000 }),
        world.bus.request('svc.batches.health.check', { timeoutMs: 5_000 }),
      ];
      const began = awake();
      for (const outcome of await Promise.allSettled(questions())) {
        expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'unavailable' } });
      }
      expect(awake() - began).toBeLessThan(3_000);
      await mongodb.resume();
      await eventually(
        () => caller.list('suppliers').catch(() => undefined),
        (listed) => listed?.total === 1,
        15_000,
      );
      await world.bus.request('svc.catalog.health.check', { timeoutMs: 5_000 });
    },
  );
});

describe('nats-server, killed after a push has written its records and before its events are published,', () => {
  it('stores these events after its restart', { timeout: 90_000 }, async () => {
    const caller = world.caller();
    const written = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    await using _catalog = await world.startCatalog({
      async onStage(stage) {
        if (stage !== 'before-answer') return;
        written.resolve();
        await released.promise;
      },
    });
    using _end = ending(released);
    const unanswered = caller.push('suppliers', [{ externalId: 'a', name: 'N' }]);
    unanswered.catch(() => undefined);
    await written.promise;
    world.nats.hold();
    await world.nats.kill();
    released.resolve();
    await expect(unanswered).rejects.toMatchObject({ code: 'unavailable' });
    await world.nats.resume();
    await eventually(
      () => world.bus.connected,
      (connected) => connected,
    );
    const events = await eventually(
      () => caller.events().catch(() => []),
      (all) => completions(all).length === 1,
      30_000,
    );
    expect(events.map(({ body }) => body.event)).toEqual(['supplier.created', 'sync.completed']);
    expect(await caller.push('suppliers', [{ externalId: 'a', name: 'N' }])).toMatchObject({
      created: 0,
      updated: 1,
    });
  });
});

describe('an EVENTS stream that was deleted', () => {
  it('is created again, and gets all unannounced events', { timeout: 90_000 }, async () => {
    const caller = world.caller();
    // By its clock, what is due in a quarter of a minute is due at once.
    await using _catalog = await world.startCatalog({ now: () => Date.now() + 60_000 });
    const server = await connect({ servers: world.nats.url });
    await (await jetstreamManager(server)).streams.delete('EVENTS');
    await server.close();
    await caller.push('suppliers', [{ externalId: 'a', name: 'N' }]);
    const events = await eventually(
      () => caller.events().catch(() => []),
      (all) => completions(all).length === 1,
      60_000,
    );
    expect(events.map(({ body }) => body.event)).toEqual(['supplier.created', 'sync.completed']);
  });
});

describe('an EVENTS stream that refuses messages for long', () => {
  // Timeline: EVENTS refuses, and 120 answered pushes wait to be announced, each of them overdue. Then a process dies at a push.
  // What this proves: the listing of that push does not wait for the announcements.
  it('does not prevent recovery of the push of a dead process', { timeout: 60_000 }, async () => {
    await (await world.startCatalog())[Symbol.asyncDispose]();
    const server = await connect({ servers: world.nats.url });
    const { streams } = await jetstreamManager(server);
    await streams.update('EVENTS', { max_msg_size: 1 });
    await using restoring = new AsyncDisposableStack();
    restoring.defer(async () => {
      await streams.update('EVENTS', { max_msg_size: -1 });
      await server.close();
    });
    const journal = world.store.collection<Entry>('catalog_journal');
    const hourAgo = new Date(Date.now() - 60 * 60_000);
    const unannounced = (): Entry => ({
      ...entryOf('backlog', hourAgo),
      state: 'written',
      completedAt: hourAgo,
      outcomes: new Uint8Array(),
      fields: [],
    });
    await journal.insertMany(range(120).map(() => unannounced()));
    restoring.defer(async () => void (await journal.deleteMany({ integration: 'backlog' })));
    const caller = world.caller();
    const lost = entryOf(caller.integration, new Date());
    const watermarks = openWatermarks(world.store, 'catalog_heads', Date.now);
    const { at } = await watermarks.open(watermarkKey(caller.integration, 'suppliers'), lost._id);
    await journal.insertOne(lost);

    await using _survivor = await world.startCatalog();
    await eventually(
      () => caller.list('suppliers'),
      ({ nextSince = '' }) => Date.parse(nextSince) >= at.getTime(),
      15_000,
    );
    expect(await caller.runs()).toMatchObject({ total: 0 });
    expect(await journal.countDocuments({ integration: 'backlog', state: 'written' })).toBe(120);
  });
});

/** As a process left it that died a moment before it is due. */
const entryOf = (integration: string, startedAt: Date): Entry =>
  writingEntry({ _id: newSyncId(startedAt), integration, startedAt, due: startedAt });

describe('a service that gets SIGTERM', () => {
  it(
    'answers every push in progress and publishes the events of these pushes before the process ends',
    { timeout: 60_000 },
    async () => {
      // Each push has an integration of its own, as many of one may have to wait too long for their turns.
      const callers = range(12).map(() => world.caller());
      const catalog = await world.startCatalog();
      const pushes = callers.map((caller) =>
        caller.push(
          'suppliers',
          range(100).map((nth) => ({ externalId: `s${nth}`, name: 'N' })),
        ),
      );
      // The first answer shows that the service works on the others.
      await Promise.race(pushes);
      await catalog[Symbol.asyncDispose]();
      const answers = await Promise.all(pushes);
      expect(answers.every(({ created }) => created === 100)).toBe(true);
      for (const caller of callers) {
        const events = await caller.events();
        expect([completions(events).length, events.length]).toEqual([1, 101]);
      }
      const pending = world.store.collection<{ integration: string; state: string }>('catalog_journal');
      expect(
        await pending.countDocuments({
          integration: { $in: callers.map(({ integration }) => integration) },
          state: { $ne: 'announced' },
        }),
      ).toBe(0);
      await expect(world.caller().push('suppliers', [])).rejects.toMatchObject({ code: 'unavailable' });
    },
  );
});
