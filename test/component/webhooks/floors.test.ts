// Where a new owner of a partition goes on: at the last floor that the dead owner has stored.
import { randomUUID } from 'node:crypto';
import { openLog } from '@integration-sync/runtime/log';
import { openStore, type Store } from '@integration-sync/runtime/store';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { openOffsets } from '../../../services/webhooks/src/log/offsets.ts';
import {
  validThrough,
  type NewestMessage,
  type Restore,
} from '../../../services/webhooks/src/log/restores.ts';
import { Claims, type Claim } from '../../../services/webhooks/src/owning/partition-claims.ts';

const log = openLog({ service: 'test', level: 'silent' });
const facts = { id: 'log', createdAt: 'log', firstSequence: 1, lastSequence: 1_000 };
const newest: NewestMessage = { sequence: 1_000, storedAt: new Date() };
/** The log of that time, as a replica knows it, and the restores that replicas have found. */
const streamWith = (restores: readonly Restore[], more: Partial<typeof facts> = {}) => ({
  facts: { ...facts, ...more },
  newest,
  refresh: async () => facts,
  verify: async () => undefined,
  restores: { validThrough: (stored: NewestMessage | undefined) => validThrough(restores, stored) },
});
const stream = streamWith([]);
const isDead = (owner: string): boolean => owner === 'dead';
const anHourAgo = (): Date => new Date(Date.now() - 61 * 60_000);

let store: Store;
let dead: Claims;
let taken: Claim[];
beforeEach(async () => {
  const database = `floors_${randomUUID().slice(0, 8)}`;
  store = await openStore({ url: inject('engines').mongodb, database, log });
  dead = new Claims(store, 'dead', stream);
  taken = await dead.take([0, 1], isDead);
  await dead.saveFloors(taken.map(({ partition, term }) => ({ partition, term, floor: 900, stream: 'log' })));
});
afterEach(() => store[Symbol.asyncDispose]());

const floorsTaken = async (replica: string, partition: number): Promise<number[]> =>
  (await new Claims(store, replica, stream).take([partition], isDead)).map(({ floor }) => floor);

it('a new owner reads from the last floor of each partition, also after an hour without an event', async () => {
  await store
    .collection<{ _id: string; at: Date }>('webhook_replicas')
    .updateOne({ _id: 'dead' }, { $set: { at: anHourAgo() } });
  expect(await floorsTaken('a', 0)).toEqual([900]);
  expect(await floorsTaken('b', 1)).toEqual([900]);
});

it('a new owner reads from the last floor where the former owner died while it released its partitions', async () => {
  await dead.saveFloors([{ partition: 1, term: 1, floor: 950, stream: 'log' }]);
  expect(await floorsTaken('a', 0)).toEqual([900]);
  expect(await floorsTaken('a', 1)).toEqual([950]);
});

it('a new owner reads from the floor of the last claim, and ignores a later floor of an earlier claim', async () => {
  await dead.take([0], isDead);
  await dead.saveFloors([{ partition: 0, term: 1, floor: 990, stream: 'log' }]);
  expect(await floorsTaken('a', 0)).toEqual([900]);
});

it('a replica claims no partition that its owner has released and claimed again meanwhile', async () => {
  const refresh = async () => {
    await dead.giveBack(taken);
    await dead.take([0], isDead);
    return facts;
  };
  expect(await new Claims(store, 'a', { ...stream, refresh }).take([0, 1], isDead)).toEqual([]);
});

it('an owner that releases an earlier claim keeps its later claim of the partition', async () => {
  const later = await dead.take([0], isDead);
  await dead.giveBack(taken);
  expect((await dead.terms()).get(0)).toBe(later[0]?.term);
});

it('a replica claims a partition again with a later term, although MongoDB was restored with an earlier term', async () => {
  const partitions = store.collection<{ _id: number; term: number }>('webhook_partitions');
  const copied = await partitions.findOne({ _id: 0 });
  await dead.take([0], isDead);
  await partitions.updateOne({ _id: 0 }, { $set: { term: copied?.term ?? 0 } });
  expect((await dead.take([0], isDead)).map(({ term }) => term)).toEqual([3]);
});

it('an owner stores its floors again that a replica of release 1.1.0 has deleted after an hour without an event', async () => {
  await store.collection<{ _id: string }>('webhook_replicas').deleteMany();
  await dead.saveFloors([{ partition: 0, term: 1, floor: 950, stream: 'log' }]);
  expect(dead.areLost).toBe(false);
  expect(await floorsTaken('a', 0)).toEqual([950]);
});

it('the floors of a replica without partitions are removed after an hour', async () => {
  await floorsTaken('a', 0);
  await floorsTaken('a', 1);
  const replicas = store.collection<{ _id: string; at: Date }>('webhook_replicas');
  await replicas.updateOne({ _id: 'dead' }, { $set: { at: anHourAgo() } });
  await new Claims(store, 'b', stream).take([2], isDead);
  expect(await replicas.findOne({ _id: 'dead' })).toBeNull();
});

it('an offset that a former owner stored late is read by a later owner, unless an owner in between removed the offset', async () => {
  const offsets = await openOffsets(store, stream);
  const [former, owner] = [1, 2].map((term) => ({ partition: 0, term, stream: 'log' }));
  if (former === undefined || owner === undefined) throw new Error('no claims');
  const behind = new Map([['wh_1', { sequence: 5, index: 0, epoch: 0, open: [] }]]);
  await offsets.save('acme', former, behind);
  expect([...(await offsets.ofPartitions([former])).keys()]).toEqual(['acme']);
  expect(await offsets.termsIn([0])).toEqual([{ _id: 'acme', partition: 0, term: 1 }]);
  expect(await offsets.termsIn([1])).toEqual([]);
  await offsets.save('acme', owner, new Map());
  await offsets.save('acme', former, behind);
  expect([await offsets.termsIn([0]), await offsets.ofPartitions([owner])]).toEqual([[], new Map()]);
});

it('a former owner that froze while it released a partition removes no offset that a new owner has read', async () => {
  const offsets = await openOffsets(store, stream);
  const [former, owner, next] = [1, 2, 3].map((term) => ({ partition: 0, term, stream: 'log' }));
  if (former === undefined || owner === undefined || next === undefined) throw new Error('no claims');
  const behind = new Map([['wh_1', { sequence: 5, index: 0, epoch: 0, open: [] }]]);
  await offsets.save('acme', former, behind);
  await offsets.ofPartitions([owner]);
  await offsets.save('acme', former, new Map());
  expect(await offsets.ofPartitions([next])).toEqual(new Map([['acme', behind]]));
});

/** The store, with work that ends before the first operation that a method begins. */
function doingFirst(method: 'toArray' | 'insertOne' | 'updateOne', work: () => Promise<void>): Store {
  const left = [work];
  const working = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(_target, key) {
        const member: unknown = Reflect.get(target, key);
        if (typeof member !== 'function') return member;
        const call = (...given: unknown[]): unknown => Reflect.apply(member, target, given);
        if (key === 'find' || key === 'collection')
          return (...given: unknown[]) => working(Object(call(...given)));
        if (key !== method) return call;
        return async (...given: unknown[]) => {
          await left.pop()?.();
          return call(...given);
        };
      },
    });
  return working(store);
}

it('a former owner that stores offsets while a new owner reads them does not remove them later', async () => {
  const offsets = await openOffsets(store, stream);
  const [former, owner, next] = [1, 2, 3].map((term) => ({ partition: 0, term, stream: 'log' }));
  if (former === undefined || owner === undefined || next === undefined) throw new Error('no claims');
  const behind = new Map([['wh_1', { sequence: 5, index: 0, epoch: 0, open: [] }]]);
  const reading = await openOffsets(
    doingFirst('toArray', () => offsets.save('acme', former, behind)),
    stream,
  );
  expect(await reading.ofPartitions([owner])).toEqual(new Map([['acme', behind]]));
  await offsets.save('acme', former, new Map());
  expect(await offsets.ofPartitions([next])).toEqual(new Map([['acme', behind]]));
});

it('an owner replaces offsets that a former owner inserts at the same time', async () => {
  const offsets = await openOffsets(store, stream);
  const [former, owner] = [1, 2].map((term) => ({ partition: 0, term, stream: 'log' }));
  if (former === undefined || owner === undefined) throw new Error('no claims');
  const [late, present] = [['wh_1'], ['wh_2']].map(
    (ids) => new Map(ids.map((id) => [id, { sequence: 5, index: 0, epoch: 0, open: [] }])),
  );
  if (late === undefined || present === undefined) throw new Error('no offsets');
  const storing = await openOffsets(
    doingFirst('insertOne', () => offsets.save('acme', former, late)),
    stream,
  );
  await storing.save('acme', owner, present);
  expect(await offsets.of('acme')).toEqual(present);
});

it('an earlier write of offsets that arrives after a later write of the same owner removes no offset', async () => {
  const offsets = await openOffsets(store, stream);
  const owner = { partition: 0, term: 1, stream: 'log' };
  const behind = new Map([['wh_1', { sequence: 5, index: 0, epoch: 0, open: [] }]]);
  const storing = await openOffsets(
    doingFirst('updateOne', () => offsets.save('acme', owner, behind)),
    stream,
  );
  await storing.save('acme', owner, new Map());
  expect(await offsets.of('acme')).toEqual(behind);
});

it.each([true, false])(
  'an owner replaces offsets of a former owner whose clock is ahead (behind: %s)',
  async (isBehind) => {
    const offsets = await openOffsets(store, stream);
    const [former, owner] = [1, 2].map((term) => ({ partition: 0, term, stream: 'log' }));
    if (former === undefined || owner === undefined) throw new Error('no claims');
    const behind = new Map([['wh_1', { sequence: 5, index: 0, epoch: 0, open: [] }]]);
    await offsets.save('acme', former, behind);
    const ahead = { isBehind, savedAt: Date.now() + 3_600_000 };
    await store.collection<{ _id: string }>('webhook_offsets').updateOne({ _id: 'acme' }, { $set: ahead });
    await offsets.ofPartitions([owner]);
    const next = new Map([['wh_2', { sequence: 6, index: 0, epoch: 0, open: [] }]]);
    await offsets.save('acme', owner, next);
    expect(await offsets.of('acme')).toEqual(next);
  },
);

describe('after a restore of the log from a copy with 890 messages', () => {
  const restores = [{ through: 890, before: new Date(newest.storedAt.getTime() + 1) }];
  const restored = streamWith(restores, { id: 'log#1' });

  it('a new owner reads from the end of the copy, not from a higher floor that was stored before the restore', async () => {
    const [claim] = await new Claims(store, 'a', restored).take([0], isDead);
    expect(claim?.floor).toBe(890);
  });

  it('a new owner reads from a floor that release 1.1.0 stored, or that was stored after the restore', async () => {
    const replicas = store.collection<{ _id: string }>('webhook_replicas');
    await replicas.updateOne({ _id: 'dead' }, { $set: { 'floors.0': [1, 900] } });
    const partitions = store.collection<{ _id: number }>('webhook_partitions');
    await partitions.updateOne({ _id: 0 }, { $unset: { newest: 1 } });
    const [claim] = await new Claims(store, 'a', restored).take([0], isDead);
    expect(claim?.floor).toBe(900);
    const later = new Claims(store, 'b', streamWith([{ through: 890, before: new Date(0) }]));
    expect((await later.take([1], isDead)).map(({ floor }) => floor)).toEqual([900]);
  });

  it('an owner that has not noticed the restore stores no floor and no offset', async () => {
    const former = new Claims(store, 'dead', restored);
    await former.saveFloors([{ partition: 0, term: 1, floor: 990, stream: 'log' }]);
    expect(await floorsTaken('a', 0)).toEqual([900]);
    const offsets = await openOffsets(store, restored);
    const behind = new Map([['wh_1', { sequence: 5, index: 0, epoch: 0, open: [] }]]);
    await offsets.save('acme', { partition: 0, term: 1, stream: 'log' }, behind);
    expect(await offsets.ofPartitions([{ partition: 0, term: 1 }])).toEqual(new Map());
  });

  it('an endpoint with an offset after the end of the copy begins there, and keeps its open events that the copy has', async () => {
    const open = [880, 895].map((sequence) => ({ sequence, index: 0, attempts: 1, dueAtMs: 0 }));
    const offset = { sequence: 900, index: 3, epoch: 0, open };
    const before = await openOffsets(store, stream);
    await before.save('acme', { partition: 0, term: 1, stream: 'log' }, new Map([['wh_1', offset]]));
    const found = await (await openOffsets(store, restored)).of('acme');
    expect(found.get('wh_1')).toEqual({ sequence: 891, index: 0, epoch: 0, open: [open[0]] });
  });
});
