// Where a new owner of a partition goes on: at the last floor that the dead owner has stored.
import { randomUUID } from 'node:crypto';
import { openLog } from '@integration-sync/runtime/log';
import { openStore, type Store } from '@integration-sync/runtime/store';
import { afterEach, beforeEach, expect, inject, it } from 'vitest';
import { openOffsets } from '../../../services/webhooks/src/log/offsets.ts';
import { Claims } from '../../../services/webhooks/src/owning/claims.ts';

const log = openLog({ service: 'test', level: 'silent' });
const facts = { id: 'log', firstSequence: 1, lastSequence: 1_000 };
const stream = { look: async () => facts };
const isDead = (owner: string): boolean => owner === 'dead';
const anHourAgo = (): Date => new Date(Date.now() - 61 * 60_000);

let store: Store;
let dead: Claims;
beforeEach(async () => {
  const database = `floors_${randomUUID().slice(0, 8)}`;
  store = await openStore({ url: inject('engines').mongodb, database, log });
  dead = new Claims(store, 'dead', stream);
  const taken = await dead.take([0, 1], isDead);
  await dead.saveFloors(taken.map(({ partition, term }) => ({ partition, term, floor: 900 })));
});
afterEach(() => store[Symbol.asyncDispose]());

const floorsTaken = async (replica: string, partition: number): Promise<number[]> =>
  (await new Claims(store, replica, stream).take([partition], isDead)).map(({ floor }) => floor);

it('at the last floor for each of its partitions, also after an hour without an event', async () => {
  await store
    .collection<{ _id: string; at: Date }>('webhook_replicas')
    .updateOne({ _id: 'dead' }, { $set: { at: anHourAgo() } });
  expect(await floorsTaken('a', 0)).toEqual([900]);
  expect(await floorsTaken('b', 1)).toEqual([900]);
});

it('at the last floor also where the owner died while it gave the partition back', async () => {
  await dead.saveFloors([{ partition: 1, term: 1, floor: 950 }]);
  expect(await floorsTaken('a', 0)).toEqual([900]);
  expect(await floorsTaken('a', 1)).toEqual([950]);
});

it('forgets the floors of a replica that owns nothing, after an hour', async () => {
  await floorsTaken('a', 0);
  await floorsTaken('a', 1);
  const replicas = store.collection<{ _id: string; at: Date }>('webhook_replicas');
  await replicas.updateOne({ _id: 'dead' }, { $set: { at: anHourAgo() } });
  await new Claims(store, 'b', stream).take([2], isDead);
  expect(await replicas.findOne({ _id: 'dead' })).toBeNull();
});

it('a later owner reads what a former owner stored late, until the owner between has removed it', async () => {
  const offsets = await openOffsets(store, { facts });
  const [former, owner] = [1, 2].map((term) => ({ partition: 0, term, stream: 'log' }));
  if (former === undefined || owner === undefined) throw new Error('no claims');
  const behind = new Map([['wh_1', { sequence: 5, index: 0, epoch: 0, open: [] }]]);
  await offsets.save('acme', former, behind);
  expect([...(await offsets.ofPartitions([0])).keys()]).toEqual(['acme']);
  expect(await offsets.termsIn([0])).toEqual([{ _id: 'acme', partition: 0, term: 1 }]);
  expect(await offsets.termsIn([1])).toEqual([]);
  await offsets.save('acme', owner, new Map());
  await offsets.save('acme', former, behind);
  expect([await offsets.termsIn([0]), await offsets.ofPartitions([0])]).toEqual([[], new Map()]);
});
