// What happens to a store whose database goes away, in every way that a database can. The engine is this
// file's own, so that no other test misses it.
import type { Engine } from '@integration-sync/dev/engines';
import { openLog } from '@integration-sync/runtime/log';
import {
  openStore,
  readInChunks,
  sortStoreError,
  storeFailure,
  writeInChunks,
  type Collection,
  type Store,
  type StoreOptions,
} from '@integration-sync/runtime/store';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { awake } from '../../support/awake.ts';
import { eventually } from '../../support/eventually.ts';
import { freeze, mayFreeze } from '../../support/freeze.ts';
import { startMongodb } from '../../support/mongodb.ts';
import { fastestMs } from '../../support/fastest-try.ts';

interface Farm {
  _id: string;
  visits: number;
}

let engine: Engine;
let store: Store;
let farms: Collection<Farm>;

const open = (options: Partial<StoreOptions> = {}): Promise<Store> =>
  openStore({
    url: engine.url,
    database: 'away',
    log: openLog({ service: 'test', level: 'silent' }),
    ...options,
  });

beforeAll(async () => {
  engine = await startMongodb();
  store = await open();
  farms = store.collection<Farm>('farms');
});
afterAll(async () => {
  await store[Symbol.asyncDispose]();
  await engine[Symbol.asyncDispose]();
});
// A test may have left it dead.
afterEach(async () => {
  await engine.resume();
  await untilConnected();
});
beforeEach(async (context) => {
  context.skip(engine.source === 'environment', 'the engine is not ours to take away');
  await farms.deleteMany({});
  await farms.insertOne({ _id: 'a', visits: 0 });
});

const confirm = async (): Promise<void> => {};

/** Every way in which the services speak to the database, at once. */
const operations = (): Record<string, Promise<unknown>> => ({
  ping: store.database.command({ ping: 1 }),
  insertOne: farms.insertOne({ _id: 'b', visits: 0 }),
  insertMany: farms.insertMany([{ _id: 'c', visits: 0 }], { ordered: false }),
  updateOne: farms.updateOne({ _id: 'a' }, { $inc: { visits: 1 } }),
  writeInChunks: writeInChunks(farms, [{ _id: 'e', visits: 0 }], confirm, (bulk, farm) => bulk.insert(farm)),
  bulkWrite: farms.bulkWrite([{ deleteOne: { filter: { _id: 'd' } } }], { ordered: false }),
  findOneAndUpdate: farms.findOneAndUpdate({ _id: 'a' }, { $inc: { visits: 1 } }),
  readInChunks: readInChunks(farms.find({}, { singleBatch: true, raw: true }), (farm) => farm),
  find: farms.find().sort({ _id: 1 }).toArray(),
  next: farms.find().next(),
  iteration: Array.fromAsync(farms.find()),
  aggregate: farms.aggregate([{ $match: {} }]).toArray(),
  countDocuments: farms.countDocuments({}),
});

/** How each ended, and after how long, by `awake()`. */
async function outcomes() {
  const begun = awake();
  const settled = Object.entries(operations()).map(async ([name, operation]) => {
    const kind = await operation.then(() => 'done' as const, sortStoreError);
    return { name, kind, tookMs: awake() - begun };
  });
  return Promise.all(settled);
}

async function expectEndedWithin(
  limitMs: number,
  outcome: Awaited<ReturnType<typeof outcomes>>,
): Promise<void> {
  for (const { name, kind, tookMs } of outcome) {
    expect({ name, kind, inTime: tookMs < limitMs }).toStrictEqual({
      name,
      kind: 'unavailable',
      inTime: true,
    });
  }
}

/** Tries by the clock, several times, each of which must fail. */
const expectFailuresAtOnce = async (): Promise<void> =>
  expect(await fastestMs(5, async () => expectEndedWithin(3_000, await outcomes()))).toBeLessThan(100);

async function untilConnected(): Promise<void> {
  const answers = (): Promise<boolean> =>
    store.database.command({ ping: 1 }).then(
      () => true,
      () => false,
    );
  await expect.poll(answers, { timeout: 10_000, interval: 10 }).toBe(true);
  expect(store.connected).toBe(true);
}

async function expectAtWork(): Promise<void> {
  for (const { name, kind } of await outcomes())
    expect([name, kind]).not.toStrictEqual([name, 'unavailable']);
  expect(await farms.findOne({ _id: 'a' })).toMatchObject({ _id: 'a' });
}

describe('a stopped MongoDB', () => {
  beforeEach((context) => {
    context.skip(!mayFreeze(engine.pids()), 'the processes of the engine are not ours to stop');
  });

  it('fails operations in flight within 3 s and later ones immediately, and serves again when it is resumed', async () => {
    {
      using _frozen = await freeze(engine.pids());
      expect(store.connected).toBe(true);
      await expectEndedWithin(3_000, await outcomes());
      expect(store.connected).toBe(false);
      await expectFailuresAtOnce();
    }
    await untilConnected();
    await expectAtWork();
  });

  it('counts as unavailable where only its storage is stopped, though its connections answer', async (context) => {
    const [storage = 0, ...front] = engine.pids();
    context.skip(front.length === 0, 'this engine is one process');
    {
      using _frozen = await freeze([storage]);
      await expectEndedWithin(3_000, await outcomes());
      expect(store.connected).toBe(false);
      await expectFailuresAtOnce();
    }
    await untilConnected();
    await expectAtWork();
  });

  it('does not delay the end of a process', async () => {
    const leaving = await open();
    await leaving.collection('farms').findOne();
    {
      using _frozen = await freeze(engine.pids());
      await eventually(
        () => leaving.connected,
        (connected) => !connected,
      );
      const begun = awake();
      await leaving[Symbol.asyncDispose]();
      expect(awake() - begun).toBeLessThan(3_000);
    }
    await untilConnected();
  });

  it('that is resumed after a moment only delays operations', async () => {
    await store.database.command({ ping: 1 });
    const endsAt = performance.now() + 1_000;
    const frozen = await freeze(engine.pids());
    setTimeout(() => frozen[Symbol.dispose](), endsAt - performance.now());
    await expect(farms.updateOne({ _id: 'a' }, { $inc: { visits: 1 } })).resolves.toMatchObject({
      modifiedCount: 1,
    });
    expect(store.connected).toBe(true);
  });
});

describe('a killed MongoDB', () => {
  it('fails operations in flight within 3 s and later ones immediately, and serves again when it is back', async () => {
    engine.hold();
    const underWay = outcomes();
    await engine.kill();
    for (const { tookMs } of await underWay) expect(tookMs).toBeLessThan(3_000);
    await expectEndedWithin(3_000, await outcomes());
    await eventually(
      () => store.connected,
      (connected) => !connected,
    );
    await expectFailuresAtOnce();

    await engine.resume();
    await untilConnected();
    await expectAtWork();
  });

  it('loses no acknowledged write', async () => {
    const acknowledged: string[] = [];
    const pushing = (async () => {
      for (let n = 0; ; n += 1) {
        const batch = Array.from({ length: 20 }, (_, place) => ({ _id: `${n}-${place}`, visits: n }));
        await farms.insertMany(batch, { ordered: false });
        acknowledged.push(...batch.map(({ _id }) => _id));
      }
    })().catch((error: unknown) => error);
    await expect.poll(() => acknowledged.length, { interval: 5 }).toBeGreaterThan(200);
    engine.hold();
    await engine.kill();
    expect(sortStoreError(await pushing)).toBe('unavailable');

    await engine.resume();
    await untilConnected();
    expect(await farms.countDocuments({ _id: { $in: acknowledged } })).toBe(acknowledged.length);
  });

  it('makes operations fail as unavailable, without the driver’s text', async () => {
    engine.hold();
    await engine.kill();
    const error: unknown = await farms.findOne().catch((reason: unknown) => reason);
    expect(storeFailure(error)).toMatchObject({ code: 'unavailable', retryAfterSeconds: 2 });
  });
});

describe('a MongoDB that does not run yet', () => {
  it('makes a start wait, and the log names MongoDB', async () => {
    engine.hold();
    await engine.kill();
    const lines: unknown[] = [];
    const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
    const opening = open({ log: openLog({ service: 'test', level: 'info', pretty: false, destination }) });
    onTestFinished(async () => (await opening)[Symbol.asyncDispose]());
    await expect
      .poll(() => lines, { timeout: 10_000 })
      .toContainEqual(
        expect.objectContaining({
          level: 'warn',
          msg: 'waiting for MongoDB',
          mongodb: engine.url,
          reason: expect.any(String),
        }),
      );
    await engine.resume();
    const late = await opening;
    expect(late.connected).toBe(true);
    await expect(late.database.command({ ping: 1 })).resolves.toMatchObject({ ok: 1 });
  });

  it('makes a start wait until the process gets SIGTERM', async () => {
    engine.hold();
    await engine.kill();
    const stopping = new AbortController();
    const opening = open({ signal: stopping.signal });
    const reason = new Error('stopping');
    setTimeout(() => stopping.abort(reason), 100);
    const begun = performance.now();
    await expect(opening).rejects.toBe(reason);
    expect(performance.now() - begun).toBeLessThan(5_000);
  });

  it('does not delay a process that got SIGTERM before', async () => {
    await expect(open({ signal: AbortSignal.abort(new Error('stopping')) })).rejects.toThrow('stopping');
  });
});
