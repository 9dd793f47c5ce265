import {
  eventBatchesStream,
  eventBatchesStreamSpec,
  eventBatchesSubject,
  partitionOf,
  readStoredBatchSubject,
} from '@integration-sync/contracts';
import type { Engine } from '@integration-sync/dev/engines';
import type { Bus, StreamSpec } from '@integration-sync/runtime/bus';
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openFollower, openTestBus, text, type Follower } from '../../support/bus.ts';
import { eventually } from '../../support/eventually.ts';
import { startNats } from '../../support/nats.ts';
import { storedHeaders } from '../../support/stored-headers.ts';

let nats: Engine;
let bus: Bus;
let raw: NatsConnection;
let manager: JetStreamManager;

beforeAll(async () => {
  nats = await startNats();
  bus = await openTestBus(nats.url);
  raw = await connect({ servers: nats.url });
  manager = await jetstreamManager(raw);
});
afterEach(async () => {
  for await (const { config } of manager.streams.list()) await manager.streams.delete(config.name);
});
afterAll(async () => {
  await raw.close();
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

it('a reader gets all messages although large messages end a pull early', { timeout: 60_000 }, async () => {
  await bus.ensureStream(spec('LARGE'));
  const body = new Uint8Array(500_000);
  for (let index = 0; index < 150; index += 1)
    await bus.publishBatch([{ subject: 'LARGE.x', id: `large-${index}`, body }]);
  expect(await read('LARGE', 'LARGE.>')).toHaveLength(150);
});

it('a reader gets a message that is larger than the byte limit of a pull', async () => {
  await bus.ensureStream(spec('HUGE'));
  for (const id of ['one', 'two', 'three'])
    await bus.publishBatch([{ subject: 'HUGE.x', id, body: new Uint8Array(3_000_000) }]);
  expect(await read('HUGE', 'HUGE.>')).toEqual(['one', 'two', 'three']);
});

it('a read with a byte limit ends with the pull that reaches the limit, and the next read continues after it', async () => {
  await bus.ensureStream(spec('BOUNDED'));
  const [bytesMax, largestBytes] = [64_000, 100_000];
  for (let index = 0; index < 30; index += 1)
    await bus.publishBatch([
      {
        subject: 'BOUNDED.x',
        id: `bounded-${index}`,
        body: new Uint8Array(index % 10 === 5 ? largestBytes : 10_000),
      },
    ]);
  const found: number[] = [];
  const bytes: number[] = [];
  while (found.length < 30) {
    const from = { sequence: (found.at(-1) ?? 0) + 1 };
    let bytesRead = 0;
    for await (const message of bus.readStream('BOUNDED', { subject: 'BOUNDED.>', from, bytesMax })) {
      found.push(message.sequence);
      bytesRead += message.body.length;
    }
    bytes.push(bytesRead);
  }
  expect(Math.min(...bytes.slice(0, -1))).toBeGreaterThanOrEqual(bytesMax);
  expect(Math.max(...bytes)).toBeLessThan(2 * bytesMax + largestBytes);
  expect(found).toEqual(Array.from({ length: 30 }, (_, index) => index + 1));
});

it(
  'many concurrent large reads are not cut off by nats-server as a slow consumer',
  { timeout: 60_000 },
  async () => {
    await bus.ensureStream(spec('MUCH'));
    const body = new Uint8Array(250_000);
    for (let index = 0; index < 300; index += 1)
      await bus.publishBatch([{ subject: 'MUCH.x', id: `much-${index}`, body }]);
    const found = await Promise.all([1, 2, 3, 4].map(() => read('MUCH', 'MUCH.>')));
    expect(found.map((ids) => ids.length)).toEqual([300, 300, 300, 300]);
  },
);

it('a start creates a missing stream, leaves an existing stream unchanged, and updates a stream to a changed definition', async () => {
  await bus.ensureStream(spec('MADE'));
  await bus.publishBatch([{ subject: 'MADE.x', id: '1', body: 'kept' }]);
  await bus.ensureStream(spec('MADE'));
  await bus.ensureStream({ ...spec('MADE'), subjects: ['MADE.>', 'MORE.>'] });
  await bus.publishBatch([{ subject: 'MORE.x', id: '2', body: 'taken' }]);
  expect(await bus.messagesIn('MADE')).toBe(2);
  expect(await bus.streamFacts('MADE')).toMatchObject({ firstSequence: 1, lastSequence: 2 });
});

it('a single server that is asked for several copies of a stream causes an error that names the setting', async () => {
  await expect(bus.ensureStream({ ...spec('COPIES'), replicas: 3 })).rejects.toThrow(
    'STREAM_REPLICAS: expected 1, as this NATS is a single server (stream COPIES)',
  );
});

it('a start reports a stream that cannot be updated to its definition', async () => {
  await bus.ensureStream(spec('FIXED'));
  await expect(bus.ensureStream({ ...spec('FIXED'), retention: 'workqueue' })).rejects.toThrow(
    /NATS refuses the stream FIXED/,
  );
});

it.each([1, 2, 15, 16, 501])(
  '%i messages are published in order, and repeated without duplicates',
  async (count) => {
    const name = `BATCH${count}`;
    await bus.ensureStream(spec(name));
    const all = messages(name, count);
    const places = (duplicate: boolean) => all.map((_, index) => ({ sequence: index + 1, duplicate }));
    expect(await bus.publishBatch(all)).toEqual(places(false));
    expect(await read(name, `${name}.>`)).toEqual(all.map((message) => message.id));
    expect(await bus.publishBatch(all)).toEqual(places(true));
    expect(await bus.messagesIn(name)).toBe(count);
  },
);

it('the publish of a batch returns the sequence of each message, also of 1,201 messages beside other publishers', async () => {
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

it('a message of a batch is stored with the same bytes as a single message', async () => {
  await bus.ensureStream(spec('BYTES'));
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const bodies = ['plain', 'läßt 𝄞 €', '', '\r\n', Buffer.from([0, 13, 10, 255]), Buffer.from('bytes')];
  const all = (name: string) =>
    Array.from({ length: 300 }, (_, index) => ({
      subject: `BYTES.${name}.${index % 3}`,
      id: `${name}-${index}`,
      body: bodies[index % bodies.length] ?? '',
    }));
  const stored = async (name: string) => {
    const found: object[] = [];
    const from = { sequence: 1 };
    const headers = await storedHeaders(nats.url, 'BYTES', `BYTES.${name}.*`);
    for await (const message of bus.readStream('BYTES', { subject: `BYTES.${name}.*`, from })) {
      const { subject, id, body } = message;
      found.push({
        subject: subject.replace(name, ''),
        id: id.replace(name, ''),
        bundled: headers[found.length]?.get('Bundled'),
        traceparent: message.traceparent,
        body: Buffer.from(body).toString('hex'),
      });
    }
    return found;
  };
  const headers = { Bundled: '1', traceparent };
  await bus.publishBatch(all('together'), headers);
  for (const message of all('alone')) await bus.publishBatch([message], headers);
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

it('a batch with a message larger than max_payload is refused, and the connection stays open', async () => {
  await bus.ensureStream(spec('OVERSIZED'));
  const all = messages('OVERSIZED', 40);
  const oversized = { subject: 'OVERSIZED.x', id: 'oversized', body: 'x'.repeat(bus.maxPayloadBytes) };
  await expect(bus.publishBatch([...all, oversized, ...messages('OVERSIZED', 9)])).rejects.toMatchObject({
    code: 'unavailable',
  });
  expect(bus.connected).toBe(true);
  expect(await bus.messagesIn('OVERSIZED')).toBe(0);
  await bus.publishBatch(all);
  expect(await bus.messagesIn('OVERSIZED')).toBe(40);
});

it('a repeated batch stores the messages that the first publish did not store', async () => {
  await bus.ensureStream(spec('PART'));
  const all = messages('PART', 300);
  await bus.publishBatch(all.slice(100, 150));
  const published = await bus.publishBatch(all);
  expect(published.map(({ duplicate }) => duplicate)).toEqual(all.map((_, n) => n >= 100 && n < 150));
  expect((await read('PART', 'PART.>')).toSorted()).toEqual(all.map((message) => message.id).toSorted());
});

it('a publish may exceed the size of one batch, and the number of concurrent batches of the server', async () => {
  await bus.ensureStream(spec('MANY'));
  await bus.publishBatch(messages('MANY', 2_300, 'long'));
  await Promise.all(
    Array.from({ length: 60 }, (_, index) => bus.publishBatch(messages('MANY', 20, `b${index}`))),
  );
  expect(await bus.messagesIn('MANY')).toBe(2_300 + 60 * 20);
});

it('a publisher learns whether a message was a duplicate', async () => {
  await bus.ensureStream(spec('TWICE'));
  const first = await bus.publishBatch([{ subject: 'TWICE.x', id: 'same', body: 'x' }]);
  const second = await bus.publishBatch([{ subject: 'TWICE.x', id: 'same', body: 'x' }]);
  expect(first).toEqual([{ sequence: 1, duplicate: false }]);
  expect(second).toEqual([{ sequence: 1, duplicate: true }]);
});

it('a message that no stream covers is not reported as published', async () => {
  await expect(bus.publishBatch([{ subject: 'nowhere.x', id: '1', body: 'x' }])).rejects.toMatchObject({
    code: 'unavailable',
  });
});

it('a read of any number of messages by subject begins at a sequence or a time', async () => {
  await bus.ensureStream(spec('READ'));
  const all = messages('READ', 1_300);
  await bus.publishBatch(all);
  const odd = all.filter((_, index) => index % 2 === 1).map((message) => message.id);
  expect(await read('READ', 'READ.acme.odd')).toEqual(odd);
  expect(await read('READ', 'READ.acme.odd', { sequence: 1_299 })).toEqual(['id-1299']);
  expect(await read('READ', 'READ.acme.none')).toEqual([]);
  expect(await read('READ', 'READ.>', { time: new Date(Date.now() + 60_000) })).toEqual([]);
});

const bodies = (stream: string, count: number, prefix = 'id') =>
  Array.from({ length: count }, (_, index) => ({
    subject: `${stream}.acme.${index % 2 === 0 ? 'even' : 'odd'}`,
    id: `${prefix}-${index}`,
    body: `${prefix}-${index}`,
  }));
const idsOf = (all: readonly { id: string }[]): string[] => all.map(({ id }) => id);

const seesAll = async (following: Follower, count: number): Promise<void> => {
  await eventually(
    () => following.seen.length,
    (length) => length >= count,
    20_000,
  );
};

const again = (name: string): StreamSpec => ({
  ...spec(name),
  subjects: [`${name}.*`],
  subjectTransform: { src: `${name}.*`, dest: `${name}.1.{{wildcard(1)}}` },
  republish: { src: `${name}.1.*`, dest: `${name}.1.{{wildcard(1)}}` },
});
const numbered = (name: string, count: number, prefix: string) =>
  Array.from({ length: count }, (_, index) => ({
    subject: `${name}.x`,
    id: `${prefix}-${index}`,
    body: `${prefix}-${index}`,
  }));

describe('a reader that follows a stream', () => {
  it('gets each stored and each new message once and in order', async () => {
    await bus.ensureStream(spec('FOLLOW'));
    const [first, later] = [bodies('FOLLOW', 100), bodies('FOLLOW', 50, 'later')];
    await bus.publishBatch(first);
    await using following = openFollower(bus, 'FOLLOW', { filters: ['FOLLOW.>'] });
    await seesAll(following, 100);
    await bus.publishBatch(later);
    await seesAll(following, 150);
    expect(following.seen).toEqual(idsOf([...first, ...later]));
  });

  it('gets the messages of its filters from its offset on', async () => {
    await bus.ensureStream(spec('FROM'));
    const all = [...bodies('FROM', 10), { subject: 'FROM.other', id: 'other', body: 'other' }];
    await bus.publishBatch(all);
    const found: [sequence: number, subject: string][] = [];
    await using _following = openFollower(bus, 'FROM', {
      filters: ['FROM.>'],
      isMeant: (subject) => subject !== 'FROM.acme.even',
      from: () => Promise.resolve(6),
      onMessage: ({ sequence, subject }) => void found.push([sequence, subject]),
    });
    await eventually(
      () => found.length,
      (count) => count >= 4,
    );
    expect(found).toEqual([
      [6, 'FROM.acme.odd'], [8, 'FROM.acme.odd'], [10, 'FROM.acme.odd'], [11, 'FROM.other'],
    ]); // oxfmt-ignore
  });

  it('handles one message at a time', async () => {
    await bus.ensureStream(spec('SLOW'));
    await bus.publishBatch(bodies('SLOW', 40));
    let [inHand, most] = [0, 0];
    await using following = openFollower(bus, 'SLOW', {
      filters: ['SLOW.>'],
      async onMessage() {
        inHand += 1;
        most = Math.max(most, inHand);
        await new Promise((resolve) => setImmediate(resolve));
        inHand -= 1;
      },
    });
    await seesAll(following, 40);
    expect([most, following.failingForMs]).toEqual([1, 0]);
  });

  it('gets a message immediately where nats-server republishes the stream', async () => {
    await bus.ensureStream(again('LIVE'));
    await using following = openFollower(bus, 'LIVE', { filters: ['LIVE.1.*'] });
    await bus.publishBatch(numbered('LIVE', 1, 'first'));
    await seesAll(following, 1);
    const waits: number[] = [];
    for (let nth = 0; nth < 5; nth += 1) {
      const began = performance.now();
      await bus.publishBatch(numbered('LIVE', 1, `${nth}`));
      await seesAll(following, nth + 2);
      waits.push(performance.now() - began);
    }
    // A reader that only asks where the stream ends does so once a second.
    expect(Math.min(...waits)).toBeLessThan(500);
  });

  // Setup: the first message is being taken while more come than the reader keeps.
  it('reads dropped republished messages from the stream, each once and in order', async () => {
    await bus.ensureStream(again('GAP'));
    const open = Promise.withResolvers<void>();
    await using following = openFollower(bus, 'GAP', {
      filters: ['GAP.1.*'],
      ahead: 4,
      onMessage: ({ sequence }) => (sequence === 1 ? open.promise : undefined),
    });
    const [first, later] = [numbered('GAP', 30, 'first'), numbered('GAP', 30, 'later')];
    await bus.publishBatch(first);
    open.resolve();
    await seesAll(following, 30);
    await bus.publishBatch(later);
    await seesAll(following, 60);
    expect(following.seen).toEqual([...first, ...later].map(({ id }) => id));
  });

  it('ignores a message that imitates a republished message', async () => {
    await bus.ensureStream(again('FALSE'));
    await using following = openFollower(bus, 'FALSE', { filters: ['FALSE.1.*'] });
    await bus.publishBatch(numbered('FALSE', 3, 'before'));
    await seesAll(following, 3);
    for (const sequence of ['999999', '2', '-1', '1e999', 'x'])
      bus.broadcast('FALSE.1.x', 'false', { 'Nats-Sequence': sequence });
    await bus.publishBatch(numbered('FALSE', 3, 'after'));
    await seesAll(following, 6);
    expect(following.seen).toEqual(
      [...numbered('FALSE', 3, 'before'), ...numbered('FALSE', 3, 'after')].map(({ id }) => id),
    );
  });

  it('reads a stream without republish within seconds, and creates no consumer', async () => {
    await bus.ensureStream(spec('PLAIN'));
    await using following = openFollower(bus, 'PLAIN', { filters: ['PLAIN.>'] });
    await bus.publishBatch(bodies('PLAIN', 5, 'before'));
    await seesAll(following, 5);
    const untilMs = performance.now() + 5_000;
    await bus.publishBatch(bodies('PLAIN', 5, 'after'));
    await seesAll(following, 10);
    expect(performance.now()).toBeLessThan(untilMs);
    expect(await manager.consumers.list('PLAIN').next()).toEqual([]);
  });

  it('goes on after a missing stream was created late, and logs for how long it was missing', async () => {
    let tries = 0;
    let failingForMs = 0;
    await using following = openFollower(bus, 'LATE', {
      filters: ['LATE.>'],
      async ensure() {
        tries += 1;
        failingForMs = following.failingForMs;
        if (tries < 3) throw new Error('no suitable peers for placement');
        await bus.ensureStream(spec('LATE'));
        await bus.publishBatch(bodies('LATE', 2));
      },
    });
    await seesAll(following, 2);
    expect(tries).toBe(3);
    expect(failingForMs).toBeGreaterThan(250);
    expect(following.failingForMs).toBe(0);
  });

  it('continues with a stream that was deleted and created again, at the offset that the function from() then returns', async () => {
    await bus.ensureStream(spec('AGAIN'));
    await bus.publishBatch(bodies('AGAIN', 5, 'before'));
    let [next, made] = [1, 1];
    const seen: string[] = [];
    await using reading = bus.follow('AGAIN', {
      subject: 'AGAIN.>',
      isMeant: () => true,
      ahead: 16,
      from: () => Promise.resolve(next),
      async ensure() {
        await bus.ensureStream(spec('AGAIN'));
        [next, made] = [1, made + 1];
      },
      onMessage({ sequence, body }) {
        seen.push(text(body));
        next = sequence + 1;
      },
    });
    await expect.poll(() => seen.length).toBe(5);
    await manager.streams.delete('AGAIN');
    await expect.poll(() => made, { timeout: 10_000 }).toBe(2);
    await bus.publishBatch(bodies('AGAIN', 2, 'after'));
    await expect.poll(() => seen.slice(5), { timeout: 10_000 }).toEqual(['after-0', 'after-1']);
    // Where nothing more comes, a heartbeat says that there would be.
    await expect.poll(() => reading.failingForMs).toBe(0);
  });

  it('can be closed while it waits for the creation of its stream', async () => {
    const asked = Promise.withResolvers<void>();
    const following = openFollower(bus, 'NEVER', {
      filters: ['NEVER.>'],
      async ensure() {
        asked.resolve();
        await new Promise(() => {});
      },
    });
    await asked.promise;
    const began = performance.now();
    await following[Symbol.asyncDispose]();
    expect(performance.now() - began).toBeLessThan(10_000);
  });
});

it('the number of messages of a missing stream is undefined', async () => {
  await bus.ensureStream(spec('FORMER'));
  await bus.publishBatch(messages('FORMER', 3));
  expect(await bus.messagesIn('FORMER')).toBe(3);
  await manager.streams.delete('FORMER');
  expect(await bus.messagesIn('FORMER')).toBeUndefined();
});

it('a purge of one subject leaves the messages of other subjects', async () => {
  await bus.ensureStream(spec('PURGE'));
  await bus.publishBatch(messages('PURGE', 10));
  expect(await bus.purge('PURGE', 'PURGE.acme.odd')).toBe(5);
  expect(await read('PURGE', 'PURGE.>')).toEqual(['id-0', 'id-2', 'id-4', 'id-6', 'id-8']);
});

it('an event batch is stored under the partition of its integration', async () => {
  await bus.ensureStream(eventBatchesStreamSpec({}));
  const names = ['acme', 'beta', 'gamma', 'delta', '7', '__proto__', 'a-b', 'A'.repeat(64)];
  const integrations = [...names, ...Array.from({ length: 200 }, (_, n) => `customer_${n}`)];
  for (const id of integrations)
    await bus.publishBatch([{ subject: eventBatchesSubject('catalog', id), id, body: '' }]);
  const reading = bus.readStream(eventBatchesStream, { subject: 'event-batches.>', from: { sequence: 1 } });
  const stored = await Array.fromAsync(reading, ({ subject }) => readStoredBatchSubject(subject));
  expect(stored).toEqual(
    integrations.map((integration) => ({
      partition: partitionOf(integration),
      announcer: 'catalog',
      integration,
    })),
  );
});

it('the leader of a stream says whether the stream has a message of a subject after a sequence', async () => {
  await bus.ensureStream(spec('AFTER'));
  await bus.publishBatch([
    { subject: 'AFTER.a.x', id: '1', body: 'one' },
    { subject: 'AFTER.b.x', id: '2', body: 'two' },
  ]);
  const after = (subject: string, sequence: number) => bus.hasAfter('AFTER', subject, sequence);
  expect(await Promise.all([after('AFTER.a.*', 0), after('AFTER.a.*', 1), after('AFTER.a.*', 9)])).toEqual([
    true,
    false,
    false,
  ]);
  expect(await Promise.all([after('AFTER.b.*', 1), after('AFTER.c.*', 0)])).toEqual([true, false]);
});

it('the messages of each subject are counted', async () => {
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
