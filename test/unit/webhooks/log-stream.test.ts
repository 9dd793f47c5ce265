// Whether a replica notices that the log was restored from an older copy while the replica runs.
import { openLog } from '@integration-sync/runtime/log';
import { expect, it } from 'vitest';
import { LogStream } from '../../../services/webhooks/src/log/stream.ts';

const atMs = (sequence: number, restoredAtMs = 0): Date => new Date(restoredAtMs + sequence * 1_000);

/** A log of 100 messages, one a second, as nats-server answers for it. */
function setUp() {
  const times = new Map(Array.from({ length: 100 }, (_, index) => [index + 1, atMs(index + 1)]));
  const documents: object[] = [];
  let reconnects = 0;
  let onAsked: (() => void) | undefined;
  const bus = {
    patiently: <T>(_what: string, work: () => Promise<T>) => work(),
    get reconnects() {
      return reconnects;
    },
    async streamFacts() {
      onAsked?.();
      const lastSequence = times.size;
      const lastAt = times.get(lastSequence) ?? new Date(0);
      return { madeAt: new Date(0), firstSequence: 1, lastSequence, lastAt };
    },
    storedAt: async (_stream: string, sequence: number) => times.get(sequence),
    async *readStream(_stream: string, { from }: { from: object }) {
      const since = 'time' in from && from.time instanceof Date ? from.time : new Date(0);
      for (const [sequence, storedAt] of times)
        if (storedAt >= since) yield { sequence, storedAt, subject: '', id: '', body: new Uint8Array() };
    },
  };
  const growAfter = (through: number): void => {
    for (let sequence = through + 1; sequence <= 120; sequence += 1)
      times.set(sequence, atMs(sequence, 3_600_000));
  };
  const collection = {
    findOne: async () => documents.at(-1) ?? null,
    insertOne: async (one: object) => void documents.push(one),
  };
  const stream = new LogStream({
    bus,
    store: { collection: () => collection } as never,
    beforeReading: async () => undefined,
    log: openLog({ service: 'test', level: 'silent' }),
  });
  return {
    stream,
    /** A copy that ends at `through` replaces the log, which then grows beyond its former end. */
    restore: (through: number): void => {
      growAfter(through);
      reconnects += 1;
    },
    growAfter,
    /** The copy replaces the log, and has not grown. */
    shorten: (through: number): void => {
      for (let sequence = 100; sequence > through; sequence -= 1) times.delete(sequence);
      reconnects += 1;
    },
    /** The connection ended and was made again. */
    reconnect: () => void (reconnects += 1),
    whenAsked: (then?: () => void) => void (onAsked = then),
  };
}

it('a restored log is noticed although it has grown beyond its former end', async () => {
  const { stream, restore } = setUp();
  const { id } = await stream.look();
  const { newest } = stream;
  restore(90);
  expect((await stream.look()).id).toBe(`${id}#1`);
  expect([newest.sequence, stream.restores.validThrough(newest)]).toEqual([100, 90]);
  expect(stream.restores.validThrough({ sequence: 90, storedAt: atMs(90) })).toBe(Infinity);
  expect(stream.restores.validThrough(stream.newest)).toBe(Infinity);
});

it('webhooks notices that the log is restored while a request to nats-server waits for a connection', async () => {
  const { stream, restore, whenAsked } = setUp();
  const { id } = await stream.look();
  whenAsked(() => {
    whenAsked();
    restore(90);
  });
  await stream.lookOnce();
  expect(stream.facts.id).toBe(`${id}#1`);
});

it('webhooks notices that the log was restored, although the log grows beyond its former end meanwhile', async () => {
  const { stream, growAfter, shorten, whenAsked } = setUp();
  const { id } = await stream.look();
  shorten(90);
  let questions = 0;
  whenAsked(() => {
    questions += 1;
    if (questions === 3) growAfter(90);
  });
  expect((await stream.look()).id).toBe(`${id}#1`);
  expect(stream.restores.validThrough({ sequence: 100, storedAt: atMs(100) })).toBe(90);
});

it('a log that grows, or is reached after a reconnect, does not count as restored', async () => {
  const { stream, restore } = setUp();
  const { id } = await stream.look();
  restore(100);
  expect((await stream.look()).id).toBe(id);
  expect(await stream.has({ sequence: 95, storedAt: atMs(95) })).toBe(true);
  expect(await stream.has({ sequence: 96, storedAt: atMs(95, -60_000) })).toBe(false);
});

it('a message that only another replica knew before a restore counts as lost, although this replica noticed no restore', async () => {
  const { stream, reconnect, growAfter } = setUp();
  await stream.look();
  // The copy has all that this replica knew. The other replica knew messages behind it.
  reconnect();
  await stream.look();
  growAfter(100);
  expect(await stream.has({ sequence: 105, storedAt: atMs(105) })).toBe(false);
});
