// A page of the feed, of a window in memory.
import { limits } from '@integration-sync/contracts';
import { expect, it } from 'vitest';
import { readPage, type PageAsked } from '../../../services/webhooks/src/feed/page.ts';
import type { LoggedBatch } from '../../../services/webhooks/src/log/batch.ts';
import { batchOf, windowOf } from '../../support/webhook-parts.ts';

const all: PageAsked = {
  from: { sequence: 1, index: 0 },
  sinceMs: null,
  kinds: undefined,
  limit: 100,
  bytesMax: 1_000_000,
};

async function read(batches: readonly LoggedBatch[], asked: Partial<PageAsked> = {}, through?: number) {
  const window = windowOf();
  for (const batch of batches) window.add(batch);
  if (through !== undefined) window.advance(through);
  const { events, ...page } = await readPage(window, { ...all, ...asked });
  return { ids: events.map((text) => /"id":"([^"]*)"/.exec(text)?.[1]), ...page };
}

it('ends behind what was looked at, and at the end of what is known', async () => {
  const batches = [batchOf(3, 2), batchOf(5, 1)];
  expect(await read(batches)).toEqual({
    ids: ['3-0', '3-1', '5-0'],
    next: { sequence: 6, index: 0 },
    sinceMs: null,
    more: false,
  });
  expect((await read(batches, {}, 90)).next).toEqual({ sequence: 91, index: 0 });
  // A place ahead of what this replica knows stays where it is.
  expect((await read(batches, { from: { sequence: 200, index: 0 } })).next).toEqual({
    sequence: 200,
    index: 0,
  });
});

it('goes on within a batch', async () => {
  const batches = [batchOf(3, 4), batchOf(5, 1)];
  const first = await read(batches, { limit: 3 });
  expect([first.ids, first.next, first.more]).toEqual([
    ['3-0', '3-1', '3-2'],
    { sequence: 3, index: 3 },
    true,
  ]);
  const second = await read(batches, { from: first.next, limit: 1 });
  expect([second.ids, second.next, second.more]).toEqual([['3-3'], { sequence: 4, index: 0 }, true]);
});

it('shows nothing that one endpoint gets again', async () => {
  expect((await read([batchOf(3, 2, { endpointId: 'wh_1' }), batchOf(5)])).ids).toEqual(['5-0']);
});

it('ends where the answer would be too large, and shows one event in any case', async () => {
  const batches = [batchOf(3, 5)];
  expect((await read(batches, { bytesMax: 30 })).ids).toEqual(['3-0', '3-1']);
  expect((await read(batches, { bytesMax: 1 })).ids).toEqual(['3-0']);
});

it('ends after 2 MiB of other kinds, with more to come', async () => {
  const half = { bytes: limits.feedBytesMax / 2 };
  const batches = [3, 4, 5].map((sequence) => batchOf(sequence, 1, half));
  // A window has no more than 1 MiB in memory.
  const window = {
    through: 5,
    load: async () => undefined,
    at: (from: number) => batches.find(({ sequence }) => sequence >= from) ?? 'end',
  } as const;
  const { next, more, events } = await readPage(window, { ...all, kinds: new Set(['batch.created']) });
  expect([events, next, more]).toEqual([[], { sequence: 5, index: 0 }, true]);
});

it('passes over events up to a time until the first later one, and over none after it', async () => {
  const times = [1, 5, 6, 2].map((ms, index) => {
    const timestamp = new Date(ms).toISOString();
    const [event] = batchOf(index + 1).events();
    if (event === undefined) throw new Error('it has an event');
    return batchOf(index + 1, 1, { events: () => [{ ...event, timestamp }] });
  });
  const read5 = await read(times, { sinceMs: 5 });
  expect([read5.ids, read5.sinceMs]).toEqual([['3-0', '4-0'], null]);
  const read9 = await read(times, { sinceMs: 9 });
  expect([read9.ids, read9.sinceMs]).toEqual([[], 9]);
});
