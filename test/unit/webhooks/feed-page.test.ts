// A page of the feed, of a window in memory.
import { limits, packAddressedBatches, packEventBatches } from '@integration-sync/contracts';
import { openLog } from '@integration-sync/runtime/log';
import { array, asyncProperty, assert, boolean, record, string } from 'fast-check';
import { expect, it } from 'vitest';
import { readPage, type PageAsked } from '../../../services/webhooks/src/feed/page.ts';
import { readBatch, type LoggedBatch } from '../../../services/webhooks/src/log/logged-batch.ts';
import { Windows } from '../../../services/webhooks/src/log/window.ts';

const all: PageAsked = {
  from: { sequence: 1, index: 0 },
  sinceMs: null,
  kinds: undefined,
  limit: 100,
  bytesMax: 1_000_000,
};

const log = openLog({ service: 'test', level: 'silent' });
const time = '2026-01-01T00:00:00.000Z';

const bodyOf = (event: string, timestamp = time, data: unknown = {}): string =>
  JSON.stringify({ event, timestamp, integrationId: 'acme', data });

/** As publishers store it: events of these bodies, of one push where they have a beginning in common. */
function batchOf(
  sequence: number,
  bodies: readonly string[] | number = 1,
  { endpointId, begin, ids = (index) => `${sequence}-${index}` }: BatchParts = {},
): LoggedBatch {
  const given = typeof bodies === 'number' ? Array.from({ length: bodies }, () => bodyOf(created)) : bodies;
  const events = given.map((body, index) => ({ id: ids(index), body, begin }));
  const acks = events.map((_, index) => ({ sequence: index + 1, duplicate: false }));
  const [message] =
    endpointId === undefined
      ? packEventBatches({ announcer: 'catalog', integration: 'acme', events, acks })
      : packAddressedBatches({ endpointId, integration: 'acme', sending: 's' }, events);
  const announcer = endpointId === undefined ? 'catalog' : 'replay';
  const subject = `event-batches.1.${announcer}.acme`;
  const body = Buffer.from(message?.body ?? '');
  const stored = { subject, id: '', headers: new Map(), body, sequence, storedAt: new Date() };
  const batch = readBatch(stored, log);
  if (batch === undefined) throw new Error('it is an event batch');
  return batch;
}

interface BatchParts {
  endpointId?: string;
  begin?: { id: string; body: string };
  ids?: (index: number) => string;
}

const created = 'supplier.created';

function windowOf(batches: readonly LoggedBatch[]) {
  const bus = { readStream: async function* () {} };
  const window = new Windows({ bus, read: () => undefined }).open('acme', 1);
  for (const batch of batches) window.add(batch);
  return window;
}

async function read(batches: readonly LoggedBatch[], asked: Partial<PageAsked> = {}, through?: number) {
  const window = windowOf(batches);
  if (through !== undefined) window.advance(through);
  const { events, ...page } = await readPage(window, { ...all, ...asked });
  return { ids: events.map((text) => /"id":"([^"]*)"/.exec(text)?.[1]), ...page };
}

it('a page of the feed has the known events, and its next page begins after the known end of the log', async () => {
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

it('a page of the feed may begin within a batch', async () => {
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

it('a page of the feed has no replayed event', async () => {
  expect((await read([batchOf(3, 2, { endpointId: 'wh_1' }), batchOf(5)])).ids).toEqual(['5-0']);
});

it('a page of the feed ends before its size limit, and has at least one event', async () => {
  const batches = [batchOf(3, 5)];
  expect((await read(batches, { bytesMax: 250 })).ids).toEqual(['3-0', '3-1']);
  expect((await read(batches, { bytesMax: 1 })).ids).toEqual(['3-0']);
});

it('a page of the feed ends after 2 MiB of events of excluded kinds, with more: true', async () => {
  const batches = [3, 4, 5].map((sequence) =>
    Object.assign(batchOf(sequence), { undecodedBytes: limits.feedBytesMax / 2 }),
  );
  // A window has no more than 1 MiB in memory.
  const window = {
    through: 5,
    load: async () => undefined,
    at: (from: number) => batches.find(({ sequence }) => sequence >= from) ?? 'end',
  } as const;
  const { next, more, events } = await readPage(window, { ...all, kinds: new Set(['batch.created']) });
  expect([events, next, more]).toEqual([[], { sequence: 5, index: 0 }, true]);
});

it('a page of the feed since a time begins at the first later event, and skips none after it', async () => {
  const times = [1, 5, 6, 2].map((ms, index) =>
    batchOf(index + 1, [bodyOf(created, new Date(ms).toISOString())]),
  );
  const read5 = await read(times, { sinceMs: 5 });
  expect([read5.ids, read5.sinceMs]).toEqual([['3-0', '4-0'], null]);
  const read9 = await read(times, { sinceMs: 9 });
  expect([read9.ids, read9.sinceMs]).toEqual([[], 9]);
});

it('a page of the feed has the body of every event, to the byte, and its id', async () => {
  const texts = array(record({ text: string({ unit: 'grapheme' }), isOfPush: boolean() }), {
    minLength: 1,
    maxLength: 20,
  });
  await assert(
    asyncProperty(texts, async (some) => {
      const begin = { id: 'push-', body: bodyOf(created).slice(0, -'{}}'.length) };
      const bodies = some.map(({ text }) => bodyOf(created, time, { text }));
      const batches = bodies.map((body, index) => {
        const parts = some[index]?.isOfPush === true ? { begin } : {};
        return batchOf(index + 1, [body], { ...parts, ids: () => `push-${index}` });
      });
      const page = await readPage(windowOf(batches), all);
      const shown = Buffer.from(page.events.join('\n'), 'latin1').toString();
      expect(shown).toBe(bodies.map((body, index) => `{"id":"push-${index}",${body.slice(1)}`).join('\n'));
    }),
  );
});

it('a page of the feed includes events whatever the order of keys and the whitespace in their JSON, and no invalid event', async () => {
  const parts = { timestamp: time, event: created, integrationId: 'acme', data: { name: 'é' } };
  const bodies = [JSON.stringify(parts), ` ${JSON.stringify(parts)}`, '{}', '[', bodyOf(created)];
  const { events } = await readPage(windowOf([batchOf(1, bodies)]), all);
  const shown = events.map((text): unknown => JSON.parse(Buffer.from(text, 'latin1').toString()));
  const plain = { timestamp: time, event: created, integrationId: 'acme', data: {} };
  expect(shown).toEqual([
    { id: '1-0', ...parts },
    { id: '1-1', ...parts },
    { id: '1-4', ...plain },
  ]);
  // Its index is among the events.
  const second = await readPage(windowOf([batchOf(1, bodies)]), {
    ...all,
    from: { sequence: 1, index: 2 },
  });
  expect(second.events.map((text) => text.slice(0, 12))).toEqual(['{"id":"1-4",']);
});

it('a page of the feed has no event that its publisher may not announce', async () => {
  const bodies = [bodyOf('webhook.disabled'), bodyOf(created), bodyOf('batch.created')];
  expect((await read([batchOf(1, bodies)])).ids).toEqual(['1-1']);
});

it('a page of the feed names an event without an id by its sequence', async () => {
  expect((await read([batchOf(1, 1, { ids: () => '' })])).ids).toEqual(['event-1']);
});
