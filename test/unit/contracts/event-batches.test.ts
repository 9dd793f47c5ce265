import {
  packAddressedBatches,
  packEventBatches,
  readEventBatch,
  type BatchedEvent,
  type EventBatch,
  type PublishAck,
} from '@integration-sync/contracts';
import { array, assert, constantFrom, jsonValue, property, stringMatching, tuple } from 'fast-check';
import { describe, expect, it } from 'vitest';

const acks = (count: number, duplicate = false): PublishAck[] =>
  Array.from({ length: count }, (_, n) => ({ sequence: 100 + n, duplicate }));
const event = (n: number, data: unknown = n): BatchedEvent => ({
  id: `sync_1-created-${n}`,
  body: JSON.stringify({ event: 'supplier.created', data }),
});

const stored = (events: readonly BatchedEvent[], at: readonly PublishAck[]) =>
  ({ announcer: 'catalog', integration: 'acme', events, acks: at }) as const;

/** What a reader gets from all of these messages. */
const read = (messages: readonly { body: string }[]) =>
  messages.flatMap(({ body }) => {
    const found = readEventBatch(Buffer.from(body));
    return found === undefined ? [] : [found];
  });

const eventsOf = (batch: EventBatch | undefined) =>
  batch
    ?.events((bytes) => Buffer.from(bytes).toString())
    .map(({ id, begin, rest }) => ({ id, body: begin.body + rest })) ?? [];

const bytesOf = (messages: readonly { body: string }[]) =>
  messages.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0);

it('an event batch is one message with all events of a push, and with the stream sequence of the last event', () => {
  const events = [event(0), event(1), event(2)];
  const messages = packEventBatches(stored(events, acks(3)));
  expect(messages).toEqual([
    {
      subject: 'event-batches.catalog.acme',
      id: 'sync_1-created-0.sync_1-created-2.3',
      body: expect.any(String),
    },
  ]);
  const [found] = read(messages);
  expect(found).toMatchObject({ count: 3, eventsThrough: 102 });
  expect(eventsOf(found)).toEqual(events);
});

it('an event batch returns every event unchanged', () => {
  assert(
    property(array(jsonValue(), { minLength: 1 }), (all) => {
      const events = all.map((data, n) => event(n, data));
      const found = read(packEventBatches(stored(events, acks(events.length))));
      expect(found.flatMap(eventsOf)).toEqual(events);
    }),
  );
});

it('an event batch returns ids and bodies unchanged, wherever their common prefix ends', () => {
  const ids = stringMatching(/^[a-c0-]{0,4}$/);
  const bodies = stringMatching(/^[a-c{" é😀]{0,4}$/u);
  const begins = ['', 'a', '0-'].flatMap((id) => ['', '{', '{"é":'].map((body) => ({ id, body })));
  assert(
    property(array(tuple(constantFrom(undefined, ...begins), ids, bodies), { minLength: 1 }), (all) => {
      const events = all.map(([begin, id, body]) => ({
        id: `${begin?.id ?? ''}${id}`,
        body: `${begin?.body ?? ''}${body}`,
      }));
      const said = events.map((one, n) => ({ ...one, begin: all[n]?.[0] }));
      const found = read(packEventBatches(stored(said, acks(events.length))));
      expect(found.flatMap(eventsOf)).toEqual(events);
    }),
  );
});

it('an event batch stores common prefixes of events once', () => {
  const common = 'acme'.repeat(100);
  const begins = ['created', 'updated'].map((kind) => ({ id: `${common}-`, body: `{"${kind}":"${common}` }));
  const events = Array.from({ length: 500 }, (_, n) => {
    const begin = begins[n % 2] ?? { id: '', body: '' };
    return { id: `${begin.id}${n}`, body: `${begin.body}${n}"}`, begin };
  });
  const [message] = packEventBatches(stored(events, acks(500)));
  expect(message?.body.length).toBeLessThan(500 * 16 + 4 * common.length);
});

it('events that are too large for one batch become several batches in order, each with the sequence of its last event', () => {
  const events = Array.from({ length: 100 }, (_, n) => event(n, '\u{20ac}'.repeat(10_000)));
  const messages = packEventBatches(stored(events, acks(100)));
  const sizes = messages.map(({ body }) => Buffer.byteLength(body));
  expect(Math.max(...sizes)).toBeLessThan(1_000_000);
  const found = read(messages);
  expect(found.flatMap((one) => eventsOf(one).map(({ id }) => id))).toEqual(events.map(({ id }) => id));
  expect(found.map(({ count, eventsThrough }) => eventsThrough - count)).toEqual(
    found.map((_, n) => 99 + found.slice(0, n).reduce((sum, { count }) => sum + count, 0)),
  );
});

it('an event that is larger than the usual batch has a batch to itself', () => {
  const events = [event(0), event(1, 'x'.repeat(300_000)), event(2)];
  const found = read(packEventBatches(stored(events, acks(3))));
  expect(found.map(eventsOf)).toEqual(events.map((one) => [one]));
});

// Setup: a publisher died after the first two of four events; another one publishes all of them again.
it('events that the stream already has and new events go into separate batches', () => {
  const events = [event(0), event(1), event(2), event(3)];
  const before = packEventBatches(stored(events.slice(0, 2), acks(2)));
  const again = packEventBatches(stored(events, [...acks(2, true), ...acks(2)]));
  expect(again).toHaveLength(2);
  expect(again[0]).toEqual(before[0]);
  const ofRest = read(again.slice(1));
  expect(ofRest.flatMap((one) => eventsOf(one).map(({ id }) => id))).toEqual([events[2]?.id, events[3]?.id]);
});

describe('a batch for one endpoint', () => {
  const to = { endpointId: 'wh_1', integration: 'acme', sending: 'replay-7' };

  it('names the endpoint, and returns its events unchanged', () => {
    const events = [event(0), event(1), event(2)];
    const messages = packAddressedBatches(to, events);
    expect(messages).toEqual([
      { subject: 'event-batches.replay.acme', id: 'replay-7.0', body: expect.any(String) },
    ]);
    const [found] = read(messages);
    expect(found).toMatchObject({ count: 3, endpointId: 'wh_1' });
    expect(eventsOf(found)).toEqual(events);
    expect(read(packEventBatches(stored(events, acks(3))))).toMatchObject([{ endpointId: undefined }]);
  });

  it('is at most slightly longer than the batch of the push, also for events without a common prefix', () => {
    const begin = { id: 'sync_1-', body: '{"event":"supplier.created","data":' };
    const alike = Array.from({ length: 400 }, (_, n) => event(n, { externalId: `S-${n}` }));
    const unlike = alike.map(({ body }, n) => ({ id: `${n}-x`, body: body.replace('created', `${n}`) }));
    for (const [events, pushed] of [
      [alike, alike.map(({ id, body }) => ({ id, body, begin }))],
      [unlike, unlike],
    ] as const) {
      const messages = packAddressedBatches(to, events);
      expect(bytesOf(messages)).toBeLessThan(
        bytesOf(packEventBatches(stored(pushed, acks(400)))) + 40 * messages.length,
      );
      expect(read(messages).flatMap(eventsOf)).toEqual(events);
    }
  });

  it('becomes several batches where one would be too large, each with its own id', () => {
    const events = Array.from({ length: 40 }, (_, n) => event(n, 'x'.repeat(10_000)));
    const messages = packAddressedBatches(to, events);
    expect(messages.length).toBeGreaterThan(1);
    expect(messages.map(({ id }) => id)).toEqual(messages.map((_, n) => `replay-7.${n}`));
    expect(read(messages).flatMap(eventsOf)).toEqual(events);
    expect(read(messages).every(({ endpointId }) => endpointId === 'wh_1')).toBe(true);
  });
});

it('an event batch without events is no message', () => {
  expect(packEventBatches(stored([], []))).toEqual([]);
});

it.each([
  '',
  '\n',
  '1 2',
  'x y\na {}\n',
  '{"event":"supplier.created"}\n',
  '-1 2\n',
  '1 2 wh_1 x\n',
  '1 2 \n',
])('%j is no event batch', (text) => {
  expect(readEventBatch(Buffer.from(text))).toBeUndefined();
});
