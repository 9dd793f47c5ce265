// The watermark of a listing, called as pushes and their recovery call it.
import { openLog } from '@integration-sync/runtime/log';
import { openStore } from '@integration-sync/runtime/store';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { watermarkKey, openWatermarks, type Watermarks } from '../../../shared/sync/src/watermarks.ts';
import { newSyncId } from '../../../shared/sync/src/ids.ts';
import { openWorld, type World } from '../../support/sync.ts';

let world: World;
let watermarks: Watermarks;

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
  watermarks = openWatermarks(world.store, 'heads', Date.now);
});
afterAll(() => world[Symbol.asyncDispose]());

const newKey = (): string => watermarkKey(randomUUID(), 'suppliers');
const hourMs = 60 * 60 * 1_000;
const hoursAgo = (hours: number): string => newSyncId(new Date(Date.now() - hours * hourMs));

describe('a running push', () => {
  it('adds its new records to the total when it closes', async () => {
    const key = newKey();
    const syncId = hoursAgo(0);
    await watermarks.open(key, syncId);
    expect(await watermarks.close(key, syncId, 3)).toBe(true);
    expect(await watermarks.close(key, syncId, 3)).toBe(false);
    expect(await watermarks.read(key)).toMatchObject({ total: 3, open: {} });
  });

  it('does not add its new records to the total once a recovery has added some; the recovery later adds the other records', async () => {
    const key = newKey();
    const syncId = hoursAgo(0);
    await watermarks.open(key, syncId);
    await watermarks.closeDead(key, syncId, 1, 0);
    await watermarks.open(key, syncId);
    expect(await watermarks.close(key, syncId, 3)).toBe(false);
    await watermarks.closeDead(key, syncId, 3, 0);
    expect(await watermarks.read(key)).toMatchObject({ total: 3, open: {} });
  });
});

describe('concurrent listings', () => {
  it('make one query to the database, and each gets its own answer', async () => {
    const finds: unknown[] = [];
    await using store = await openStore({
      url: inject('engines').mongodb,
      database: world.store.database.databaseName,
      log: openLog({ service: 'test', level: 'silent' }),
      onCommand: ({ name, command }) => void (name === 'find' && finds.push(command['filter'])),
    });
    const asked = openWatermarks(store, 'heads', Date.now);
    const [one, other, none] = [newKey(), newKey(), newKey()];
    for (const [key, added] of [
      [one, 1],
      [other, 2],
    ] as const) {
      const syncId = hoursAgo(0);
      await asked.open(key, syncId);
      await asked.close(key, syncId, added);
    }
    const all = [one, other, none, one].map((key) => asked.read(key));
    const totals = (await Promise.all(all)).map(({ _id, total }) => [_id, total]);
    expect(totals).toEqual([
      [one, 1],
      [other, 2],
      [none, 0],
      [one, 1],
    ]);
    expect(finds).toEqual([{ _id: { $in: [one, other, none] } }]);
  });
});

describe('a push that recovery has taken over', () => {
  it('does not add its new records to the total, and recovery adds the existing records', async () => {
    const key = newKey();
    const [syncId, other] = [hoursAgo(0), hoursAgo(0)];
    await watermarks.open(key, syncId);
    await watermarks.open(key, other);
    await watermarks.take(key, syncId, 1);
    await watermarks.take(key, syncId, 2);
    expect(await watermarks.close(key, syncId, 3)).toBe(false);
    expect(await watermarks.close(key, other, 5)).toBe(true);
    expect(await watermarks.closeDead(key, syncId, 3, 0)).toBe(true);
    expect(await watermarks.read(key)).toMatchObject({ total: 5 + 3 - 1, open: {} });
  });

  it('stays unchanged where it was closed before', async () => {
    const key = newKey();
    const syncId = hoursAgo(0);
    await watermarks.open(key, syncId);
    await watermarks.close(key, syncId, 3);
    await watermarks.take(key, syncId, 0);
    expect(await watermarks.closeDead(key, syncId, 3, 0)).toBe(true);
    expect((await watermarks.read(key)).counted).toBeUndefined();
  });
});

describe('a push that recovery read as open in a watermark', () => {
  it.each([
    ['is closed without a count', 0],
    ['stays open, because it was opened again later,', 1],
  ])('%s when forget() is called', async (_what, sinceMs) => {
    const key = newKey();
    const syncId = hoursAgo(0);
    await watermarks.open(key, syncId);
    const { open } = await watermarks.read(key);
    await watermarks.forget(key, syncId, (open[syncId] ?? 0) - sinceMs);
    expect((await watermarks.read(key)).open).toEqual(sinceMs === 0 ? {} : open);
  });
});

describe('a push that recovery completes twice', () => {
  it.each([
    ['today', 1],
    ['more than a day after it began', 25],
  ])('%s is counted with the records that exist at the second completion', async (_when, hours) => {
    const key = newKey();
    const syncId = hoursAgo(hours);
    for (const records of [2, 5]) {
      await watermarks.open(key, syncId);
      await watermarks.closeDead(key, syncId, records, 0);
      expect(await watermarks.read(key)).toMatchObject({
        total: records,
        open: {},
        counted: { [syncId]: records },
      });
    }
  });
});

it.each([2, 1])(
  'a push that counted two records itself is counted once although a recovery that has read %i of them closes it after another opened it',
  async (read) => {
    const key = newKey();
    const syncId = hoursAgo(0);
    await watermarks.open(key, syncId);
    await watermarks.close(key, syncId, 2);
    await watermarks.open(key, syncId, 2);
    expect(await watermarks.closeDead(key, syncId, read, 0)).toBe(true);
    expect(await watermarks.closeDead(key, syncId, 2, 2)).toBe(true);
    expect(await watermarks.read(key)).toMatchObject({ total: 2, open: {} });
  },
);

it('a recovery that closes a push learns whether an earlier close counted fewer records', async () => {
  const key = newKey();
  const [settled, closed] = [hoursAgo(0), hoursAgo(0)];
  await watermarks.open(key, settled);
  await watermarks.open(key, closed);
  expect(await watermarks.closeDead(key, settled, 2, 0)).toBe(true);
  expect(await watermarks.closeDead(key, settled, 2, 0)).toBe(true);
  expect(await watermarks.closeDead(key, settled, 3, 0)).toBe(false);
  // It has counted for itself, and knew all of them.
  await watermarks.close(key, closed, 1);
  expect(await watermarks.closeDead(key, closed, 1, 0)).toBe(true);
  expect(await watermarks.read(key)).toMatchObject({ total: 3, open: {} });
});

it('a watermark keeps the number of records that a push created for a day', async () => {
  const key = newKey();
  const [old, young, newest] = [hoursAgo(25), hoursAgo(23), hoursAgo(0)];
  for (const syncId of [old, young, newest]) {
    await watermarks.open(key, syncId);
    await watermarks.closeDead(key, syncId, 1, 0);
  }
  expect(await watermarks.read(key)).toMatchObject({ total: 3, counted: { [young]: 1, [newest]: 1 } });
  expect(Object.keys((await watermarks.read(key)).counted ?? {}).toSorted()).toEqual(
    [young, newest].toSorted(),
  );
});
