import type { Engine } from '@integration-sync/dev/engines';
import type { Bus, StreamSpec } from '@integration-sync/runtime/bus';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestBus } from '../../support/bus.ts';
import { eventually } from '../../support/eventually.ts';
import { startNats } from '../../support/nats.ts';

let nats: Engine;
let bus: Bus;

beforeAll(async () => {
  nats = await startNats();
  bus = await openTestBus(nats.url);
});
afterAll(async () => {
  await bus[Symbol.asyncDispose]();
  await nats[Symbol.asyncDispose]();
});

const spec = (name: string): StreamSpec => ({
  name,
  description: 'test',
  subjects: [`${name}.>`],
  retention: 'limits',
  discard: 'new',
  maxAgeMs: 60_000,
  duplicateWindowMs: 60_000,
  atomicBatches: true,
});

const messages = (stream: string, count: number, prefix = 'id') =>
  Array.from({ length: count }, (_, index) => ({
    subject: `${stream}.acme.${index % 2 === 0 ? 'even' : 'odd'}`,
    id: `${prefix}-${index}`,
    body: JSON.stringify({ index }),
  }));

async function read(
  stream: string,
  subject: string,
  from: { sequence: number } | { time: Date } = { sequence: 1 },
) {
  const found: string[] = [];
  for await (const message of bus.readStream(stream, { subject, from })) found.push(message.id);
  return found;
}

it('reads on where large messages end a chunk early', { timeout: 60_000 }, async () => {
  await bus.ensureStream(spec('LARGE'));
  const body = new Uint8Array(500_000);
  for (let index = 0; index < 150; index += 1)
    await bus.publish({ subject: 'LARGE.x', id: `large-${index}`, body });
  expect(await read('LARGE', 'LARGE.>')).toHaveLength(150);
});

it('reads a message that is larger than what is asked for at once', async () => {
  await bus.ensureStream(spec('HUGE'));
  for (const id of ['one', 'two', 'three'])
    await bus.publish({ subject: 'HUGE.x', id, body: new Uint8Array(3_000_000) });
  expect(await read('HUGE', 'HUGE.>')).toEqual(['one', 'two', 'three']);
});

it('reads much many times at once, and the server does not cut it off', { timeout: 60_000 }, async () => {
  await bus.ensureStream(spec('MUCH'));
  const body = new Uint8Array(250_000);
  for (let index = 0; index < 300; index += 1)
    await bus.publish({ subject: 'MUCH.x', id: `much-${index}`, body });
  const found = await Promise.all([1, 2, 3, 4].map(() => read('MUCH', 'MUCH.>')));
  expect(found.map((ids) => ids.length)).toEqual([300, 300, 300, 300]);
});

it('makes a stream, leaves it be, and changes what the code changed', async () => {
  await bus.ensureStream(spec('MADE'));
  await bus.publish({ subject: 'MADE.x', id: '1', body: 'kept' });
  await bus.ensureStream(spec('MADE'));
  await bus.ensureStream({ ...spec('MADE'), subjects: ['MADE.>', 'MORE.>'] });
  await bus.publish({ subject: 'MORE.x', id: '2', body: 'taken' });
  expect(await bus.streamFacts('MADE')).toMatchObject({ messages: 2, firstSequence: 1, lastSequence: 2 });
});

it('names the setting where a single server is asked for copies', async () => {
  await expect(bus.ensureStream({ ...spec('COPIES'), replicas: 3 })).rejects.toThrow(
    'STREAM_REPLICAS: expected 1, as this NATS is a single server (stream COPIES)',
  );
});

it('says so when a stream cannot become what the code says', async () => {
  await bus.ensureStream(spec('FIXED'));
  await expect(bus.ensureStream({ ...spec('FIXED'), retention: 'workqueue' })).rejects.toThrow(
    /NATS refuses the stream FIXED/,
  );
});

it.each([1, 2, 15, 16, 501])(
  'publishes %i in order, all of them, and again without doubling',
  async (count) => {
    const name = `BATCH${count}`;
    await bus.ensureStream(spec(name));
    const all = messages(name, count);
    const places = (duplicate: boolean) => all.map((_, index) => ({ sequence: index + 1, duplicate }));
    expect(await bus.publishBatch(all)).toEqual(places(false));
    expect(await read(name, `${name}.>`)).toEqual(all.map((message) => message.id));
    expect(await bus.publishBatch(all)).toEqual(places(true));
    expect((await bus.streamFacts(name)).messages).toBe(count);
  },
);

it('gives the place of each message of a batch, though others publish too, and however large it is', async () => {
  await bus.ensureStream(spec('PLACES'));
  await bus.publishBatch(messages('PLACES', 3, 'first'));
  const several = ['one', 'two', 'three'].map((name) => messages('PLACES', 1_201, name));
  const places = await Promise.all(several.map((all) => bus.publishBatch(all)));
  const stored = new Map<string, number>();
  for await (const { id, sequence } of bus.readStream('PLACES', {
    subject: 'PLACES.>',
    from: { sequence: 1 },
  }))
    stored.set(id, sequence);
  expect(stored.size).toBe(3 + 3 * 1_201);
  expect(places).toEqual(
    several.map((all) => all.map(({ id }) => ({ sequence: stored.get(id), duplicate: false }))),
  );
});

it('stores a message of a batch as it stores a single one, to the byte', async () => {
  await bus.ensureStream(spec('BYTES'));
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const bodies = ['plain', 'läßt 𝄞 €', '', '\r\n', Buffer.from([0, 13, 10, 255]), Buffer.from('bytes')];
  const all = (name: string) =>
    Array.from({ length: 300 }, (_, index) => ({
      subject: `BYTES.${name}.${index % 3}`,
      id: `${name}-${index}`,
      body: bodies[index % bodies.length] ?? '',
      ...(index % 2 === 0 ? {} : { traceparent }),
    }));
  const stored = async (name: string) => {
    const found: object[] = [];
    const from = { sequence: 1 };
    for await (const message of bus.readStream('BYTES', { subject: `BYTES.${name}.*`, from })) {
      const { subject, id, headers, body } = message;
      found.push({
        subject: subject.replace(name, ''),
        id: id.replace(name, ''),
        bundled: headers.get('Bundled'),
        traceparent: message.traceparent,
        body: Buffer.from(body).toString('hex'),
      });
    }
    return found;
  };
  await bus.publishBatch(all('together'), { Bundled: '1' });
  for (const message of all('alone')) await bus.publishBatch([message], { Bundled: '1' });
  const [together, alone] = [await stored('together'), await stored('alone')];
  expect(together).toHaveLength(300);
  expect(together).toEqual(alone);
  expect(together[1]).toEqual({
    subject: 'BYTES..1',
    id: '-1',
    bundled: '1',
    traceparent,
    body: Buffer.from('läßt 𝄞 €').toString('hex'),
  });
});

it('refuses a batch with a message that is larger than nats-server takes, and stays connected', async () => {
  await bus.ensureStream(spec('OVERSIZED'));
  const all = messages('OVERSIZED', 40);
  const oversized = { subject: 'OVERSIZED.x', id: 'oversized', body: 'x'.repeat(bus.maxPayloadBytes) };
  await expect(bus.publishBatch([...all, oversized, ...messages('OVERSIZED', 9)])).rejects.toMatchObject({
    code: 'unavailable',
  });
  expect(bus.connected).toBe(true);
  expect((await bus.streamFacts('OVERSIZED')).messages).toBe(0);
  await bus.publishBatch(all);
  expect((await bus.streamFacts('OVERSIZED')).messages).toBe(40);
});

it('fills up a batch of which a part was stored before', async () => {
  await bus.ensureStream(spec('PART'));
  const all = messages('PART', 300);
  await bus.publishBatch(all.slice(100, 150));
  const published = await bus.publishBatch(all);
  expect(published.map(({ duplicate }) => duplicate)).toEqual(all.map((_, n) => n >= 100 && n < 150));
  expect((await read('PART', 'PART.>')).toSorted()).toEqual(all.map((message) => message.id).toSorted());
});

it('publishes more than one batch takes, and more batches at once than the server opens', async () => {
  await bus.ensureStream(spec('MANY'));
  await bus.publishBatch(messages('MANY', 2_300, 'long'));
  await Promise.all(
    Array.from({ length: 60 }, (_, index) => bus.publishBatch(messages('MANY', 20, `b${index}`))),
  );
  expect((await bus.streamFacts('MANY')).messages).toBe(2_300 + 60 * 20);
});

it('tells a first publish from a second', async () => {
  await bus.ensureStream(spec('TWICE'));
  const first = await bus.publish({ subject: 'TWICE.x', id: 'same', body: 'x' });
  const second = await bus.publish({ subject: 'TWICE.x', id: 'same', body: 'x' });
  expect(first).toEqual({ sequence: 1, duplicate: false });
  expect(second).toEqual({ sequence: 1, duplicate: true });
});

it('does not take a message that no stream covers for published', async () => {
  await expect(bus.publish({ subject: 'nowhere.x', id: '1', body: 'x' })).rejects.toMatchObject({
    code: 'unavailable',
  });
});

it('reads by subject, from a sequence or a time on, however many there are', async () => {
  await bus.ensureStream(spec('READ'));
  const all = messages('READ', 1_300);
  await bus.publishBatch(all);
  const odd = all.filter((_, index) => index % 2 === 1).map((message) => message.id);
  expect(await read('READ', 'READ.acme.odd')).toEqual(odd);
  expect(await read('READ', 'READ.acme.odd', { sequence: 1_299 })).toEqual(['id-1299']);
  expect(await read('READ', 'READ.acme.none')).toEqual([]);
  expect(await read('READ', 'READ.>', { time: new Date(Date.now() + 60_000) })).toEqual([]);
});

it('hands each message of a consumer to one reader, again after a nak, and never after an ack', async () => {
  await bus.ensureStream(spec('WORK'));
  await bus.ensureConsumer('WORK', {
    name: 'w',
    description: 'test',
    ackWaitMs: 30_000,
    ackPendingMax: 1_000,
    deliver: 'all',
  });
  await bus.publishBatch(messages('WORK', 100));
  const seen: { id: string; deliveries: number }[] = [];
  const consuming = bus.consume('WORK', 'w', {
    ahead: 16,
    ensure: async () => undefined,
    onMessage(message) {
      seen.push({ id: message.id, deliveries: message.deliveries });
      if (message.id === 'id-7' && message.deliveries === 1) message.nak(50);
      else message.ack();
    },
  });
  await eventually(
    () => seen.length,
    (count) => count >= 101,
  );
  await consuming[Symbol.asyncDispose]();
  expect(seen.filter(({ id }) => id === 'id-7').map(({ deliveries }) => deliveries)).toEqual([1, 2]);
  expect(new Set(seen.map(({ id }) => id)).size).toBe(100);
  const again: string[] = [];
  await using _again = bus.consume('WORK', 'w', {
    ahead: 16,
    ensure: async () => undefined,
    onMessage: (message) => void again.push(message.id),
  });
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(again).toEqual([]);
});

it('reads on after a stream that is not there could not be made at once', async () => {
  const consumer = {
    name: 'l',
    description: 'test',
    ackWaitMs: 30_000,
    ackPendingMax: 100,
    deliver: 'all',
  } as const;
  let tries = 0;
  const seen: string[] = [];
  await using _consuming = bus.consume('LATE', 'l', {
    ahead: 16,
    async ensure() {
      tries += 1;
      if (tries < 3) throw new Error('no suitable peers for placement');
      await bus.ensureStream(spec('LATE'));
      await bus.ensureConsumer('LATE', consumer);
      await bus.publishBatch(messages('LATE', 2));
    },
    onMessage(message) {
      seen.push(message.id);
      message.ack();
    },
  });
  await eventually(
    () => seen.length,
    (count) => count === 2,
    10_000,
  );
  expect(tries).toBe(3);
});

it('stops at once though what it reads from can still not be made again', async () => {
  const asked = Promise.withResolvers<void>();
  const consuming = bus.consume('NEVER', 'n', {
    ahead: 16,
    async ensure() {
      asked.resolve();
      await new Promise(() => {});
    },
    onMessage: () => undefined,
  });
  await asked.promise;
  const began = performance.now();
  await consuming[Symbol.asyncDispose]();
  expect(performance.now() - began).toBeLessThan(10_000);
});

it('purges one subject and leaves its neighbours', async () => {
  await bus.ensureStream(spec('PURGE'));
  await bus.publishBatch(messages('PURGE', 10));
  expect(await bus.purge('PURGE', 'PURGE.acme.odd')).toBe(5);
  expect(await read('PURGE', 'PURGE.>')).toEqual(['id-0', 'id-2', 'id-4', 'id-6', 'id-8']);
});

// Setup: a work queue whose consumer, of an earlier version, took every message.
// What this proves: the consumer is narrowed to a part of the subjects, once, and another one takes the rest.
it('narrows a consumer of a work queue, so that another one takes the rest', async () => {
  await bus.ensureStream({ ...spec('NARROW'), retention: 'workqueue' });
  const consumer = {
    name: 'all',
    description: 'test',
    ackWaitMs: 30_000,
    ackPendingMax: 10,
    deliver: 'all',
  } as const;
  await bus.ensureConsumer('NARROW', consumer);
  await bus.publishBatch(messages('NARROW', 10));
  const narrow = { ...consumer, filterSubjects: ['NARROW.acme.odd'] };
  const rest = {
    ...consumer,
    name: 'rest',
    filterSubjects: ['NARROW.acme.even'],
    inactiveAfterMs: 60_000,
  };
  for (let times = 0; times < 2; times += 1)
    for (const one of [narrow, rest]) await bus.ensureConsumer('NARROW', one);
  expect(await bus.consumerFacts('NARROW', 'all')).toMatchObject({ pending: 5 });
  const seen = { all: [] as string[], rest: [] as string[] };
  for (const name of ['all', 'rest'] as const) {
    await using _reading = bus.consume('NARROW', name, {
      ahead: 4,
      ensure: async () => undefined,
      onMessage(message) {
        seen[name].push(message.id);
        message.ack();
      },
    });
    await eventually(
      () => seen[name].length,
      (count) => count >= 5,
    );
  }
  expect(seen.all).toEqual(['id-1', 'id-3', 'id-5', 'id-7', 'id-9']);
  expect(seen.rest).toEqual(['id-0', 'id-2', 'id-4', 'id-6', 'id-8']);
  expect(await bus.consumerFacts('NARROW', 'rest')).toMatchObject({ handedOutThrough: 9, pending: 0 });
});

it('counts the messages of each subject', async () => {
  await bus.ensureStream(spec('COUNT'));
  await bus.publishBatch(messages('COUNT', 11));
  expect(await bus.countBySubject('COUNT', 'COUNT.>')).toEqual(
    new Map([
      ['COUNT.acme.even', 6],
      ['COUNT.acme.odd', 5],
    ]),
  );
  expect(await bus.countBySubject('COUNT', 'COUNT.other')).toEqual(new Map());
  expect(await bus.countMessages('COUNT', 'COUNT.acme.*')).toBe(11);
});
