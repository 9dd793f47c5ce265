// The head of a listing, spoken to as pushes and their recovery do.
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { headKey, openHeads, type Heads } from '../../../shared/sync/src/heads.ts';
import { newSyncId } from '../../../shared/sync/src/ids.ts';
import { openWorld, type World } from '../../support/sync.ts';

let world: World;
let heads: Heads;

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
  heads = openHeads(world.store, 'heads', Date.now);
});
afterAll(() => world[Symbol.asyncDispose]());

const hourMs = 60 * 60 * 1_000;
const hoursAgo = (hours: number): string => newSyncId(new Date(Date.now() - hours * hourMs));

describe('a push that is settled twice', () => {
  it.each([
    ['today', 1],
    ['more than a day after it began', 25],
  ])('%s is counted with what there is the second time', async (_when, hours) => {
    const key = headKey(`hours-${hours}`, 'suppliers');
    const syncId = hoursAgo(hours);
    for (const records of [2, 5]) {
      await heads.open(key, syncId);
      await heads.settle(key, syncId, records, 0);
      expect(await heads.read(key)).toMatchObject({
        total: records,
        open: {},
        counted: { [syncId]: records },
      });
    }
  });
});

it('forgets what was counted of a push after a day, and not before', async () => {
  const key = headKey('forgets', 'suppliers');
  const [old, young, newest] = [hoursAgo(25), hoursAgo(23), hoursAgo(0)];
  for (const syncId of [old, young, newest]) {
    await heads.open(key, syncId);
    await heads.settle(key, syncId, 1, 0);
  }
  expect(await heads.read(key)).toMatchObject({ total: 3, counted: { [young]: 1, [newest]: 1 } });
  expect(Object.keys((await heads.read(key)).counted ?? {}).toSorted()).toEqual([young, newest].toSorted());
});
