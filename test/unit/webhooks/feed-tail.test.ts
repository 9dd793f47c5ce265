// What a replica keeps of the newest part of a log between two callers, and when it asks nats-server again.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Broadcast, StoredMessage } from '@integration-sync/runtime/bus';
import { openLog } from '@integration-sync/runtime/log';
import { packEventBatches } from '@integration-sync/contracts';
import { afterEach, expect, it, vi } from 'vitest';
import { openTails } from '../../../services/webhooks/src/feed/tail.ts';
import type { NewestMessage } from '../../../services/webhooks/src/log/restores.ts';
import type { LogStreamFacts } from '../../../services/webhooks/src/log/stream.ts';
import type { Place } from '../../../services/webhooks/src/feed/place.ts';

afterEach(() => void vi.useRealTimers());

const madeAt = new Date(0);
const placeAt = (sequence: number): Place => ({
  stream: madeAt.toISOString(),
  sequence,
  index: 0,
  sinceMs: null,
});

function stored(sequence: number): StoredMessage {
  const body = JSON.stringify({ event: 'supplier.created', timestamp: '2026-01-01T00:00:00Z', data: {} });
  const [message] = packEventBatches({
    announcer: 'catalog',
    integration: 'acme',
    events: [{ id: `${sequence}-0`, body }],
    acks: [{ sequence, duplicate: false }],
  });
  const subject = 'event-batches.1.catalog.acme';
  return {
    subject,
    id: '',
    body: Buffer.from(message?.body ?? ''),
    sequence,
    storedAt: madeAt,
  };
}

/** A log of ten event batches, all of others, and the tails that one replica has of it. */
function openReplica() {
  let own: number[] = [];
  let lastSequence = 10;
  let logMadeAt = madeAt;
  let questions = 0;
  let reading: Promise<void> = Promise.resolve();
  const listeners = new Set<(message: Broadcast) => void>();
  const gaps = new Set<() => void>();
  const log = openLog({ service: 'webhooks', level: 'silent', pretty: false });
  const bus = {
    async *readStream(_stream: string, { from }: { from: { sequence: number } | { time: Date } }) {
      const first = 'sequence' in from ? from.sequence : 0;
      const found = own.filter((sequence) => sequence >= first);
      await reading;
      for (const sequence of found) yield stored(sequence);
    },
    listen(_subject: string, onMessage: (message: Broadcast) => void, onGap?: () => void): Disposable {
      if (onGap !== undefined) gaps.add(onGap);
      listeners.add(onMessage);
      return { [Symbol.dispose]: () => void listeners.delete(onMessage) };
    },
  };
  const seen: number[] = [];
  const stream = {
    saw: (_id: string, { sequence }: NewestMessage) => void seen.push(sequence),
    async lookOnce(): Promise<LogStreamFacts> {
      questions += 1;
      const id = logMadeAt.toISOString();
      return { id, createdAt: id, firstSequence: 1, lastSequence };
    },
  };
  const tails = openTails(bus, stream, log);
  const announce = (): void => {
    const message = { subject: 'event-batches.catalog.acme', headers: new Map(), body: new Uint8Array() };
    for (const onMessage of Array.from(listeners)) onMessage(message);
  };
  return {
    tails,
    announce,
    seen,
    /** The NATS connection was down: announcements may be lost. */
    reconnect(): void {
      for (const onGap of gaps) onGap();
    },
    store: () => void own.push((lastSequence += 1)),
    /** A log of five event batches, all of others, in place of the former log. */
    makeAnew(): void {
      own = [];
      lastSequence = 5;
      logMadeAt = new Date(1_000);
    },
    /** Readings end once the returned function is called. */
    holdReadings(): () => void {
      const held = Promise.withResolvers<void>();
      reading = held.promise;
      return () => {
        held.resolve();
        reading = Promise.resolve();
      };
    },
    get questions() {
      return questions;
    },
    get listeners() {
      return listeners.size;
    },
    /** What a caller that waits at this place finds there at once: a sequence. `meanwhile` comes before it leaves. */
    async poll(place: number, meanwhile: () => void = () => undefined): Promise<number | undefined> {
      using tail = tails.use('acme');
      tail.listen();
      await tail.reach(placeAt(place));
      meanwhile();
      for (;;) {
        const found = tail.window().at(place);
        if (found !== undefined) return found === 'end' ? undefined : found.sequence;
        await tail.window().load(place);
      }
    },
  };
}

it('a caller that returns to wait at the end of the log causes no request to NATS', async () => {
  const replica = openReplica();
  expect(await replica.poll(11)).toBeUndefined();
  await replica.tails.facts();
  expect([replica.questions, replica.listeners]).toEqual([2, 1]);
  expect(await replica.poll(11)).toBeUndefined();
  expect([replica.questions, replica.listeners]).toEqual([2, 1]);
});

it('the end of the log is requested where the log has grown, the known end is old, or the caller does not wait', async () => {
  vi.useFakeTimers();
  const replica = openReplica();
  await replica.poll(11);
  replica.store();
  await replica.tails.facts();
  await replica.poll(11);
  expect(replica.questions).toBe(3);
  await vi.advanceTimersByTimeAsync(2_000);
  await replica.poll(12);
  expect(replica.questions).toBe(4);
  using tail = replica.tails.use('acme');
  await tail.reach();
  expect(replica.questions).toBe(5);
});

it('the next feed call returns events that were announced between two calls', async () => {
  const replica = openReplica();
  await replica.poll(11);
  await replica.tails.facts();
  replica.announce();
  expect(replica.listeners).toBe(0);
  replica.store();
  expect(await replica.poll(11)).toBe(11);
});

it('the next feed call returns events that are announced before, and stored after, the end of the call before', async () => {
  const replica = openReplica();
  expect(await replica.poll(11, replica.announce)).toBeUndefined();
  await sleep(50);
  await replica.tails.facts();
  replica.store();
  expect(await replica.poll(11)).toBe(11);
});

it('a waiting caller learns of events that were announced during an outage, once another caller reads them', async () => {
  const replica = openReplica();
  using tail = replica.tails.use('acme');
  tail.listen();
  await tail.reach(placeAt(11));
  let woken = 0;
  tail.onWake(() => void (woken += 1));
  replica.reconnect();
  using next = replica.tails.use('acme');
  await next.reach();
  expect(woken).toBe(0);
  replica.reconnect();
  replica.store();
  await next.reach();
  expect(woken).toBe(1);
});

it('the feed stays subscribed to announcements for a minute after its last caller has left', async () => {
  vi.useFakeTimers();
  const replica = openReplica();
  await replica.poll(11);
  await vi.advanceTimersByTimeAsync(59_000);
  replica.tails.listened();
  expect(replica.listeners).toBe(1);
  await vi.advanceTimersByTimeAsync(2_000);
  replica.tails.listened();
  expect(replica.listeners).toBe(0);
});

it('the feed frees the memory of events of a log that was created again', async () => {
  const replica = openReplica();
  using tail = replica.tails.use('acme');
  tail.listen();
  await tail.reach();
  replica.store();
  await tail.reach();
  expect(replica.tails.bytes()).toBeGreaterThan(0);
  replica.makeAnew();
  await tail.reach();
  expect(replica.tails.bytes()).toBe(0);
});

it('the feed keeps no events in memory that are read after the last caller has left', async () => {
  const replica = openReplica();
  await replica.poll(11);
  const goOn = replica.holdReadings();
  {
    using tail = replica.tails.use('acme');
    tail.listen();
    replica.store();
    replica.announce();
    await sleep(20);
  }
  goOn();
  await sleep(20);
  expect(replica.tails.bytes()).toBe(0);
});

it('the feed shows every event batch of a log that was created again during a read of the former log’s end', async () => {
  const replica = openReplica();
  using tail = replica.tails.use('acme');
  tail.listen();
  await tail.reach();
  replica.store();
  const goOn = replica.holdReadings();
  const reached = tail.reach();
  await sleep(20);
  replica.makeAnew();
  await tail.reach();
  goOn();
  await reached;
  replica.store();
  await tail.reach();
  expect(tail.window().at(6)).toMatchObject({ sequence: 6 });
});

it('an event batch that a feed call reads counts as known, so that a later loss of this batch shows a restore', async () => {
  const replica = openReplica();
  await replica.poll(11);
  replica.store();
  await replica.tails.facts();
  expect(await replica.poll(11)).toBe(11);
  expect(replica.seen).toEqual([11]);
});

it('an event batch that a feed call reads across a reconnect does not count as known, because NATS may be restored', async () => {
  const replica = openReplica();
  await replica.poll(11);
  replica.store();
  await replica.tails.facts();
  const letGo = replica.holdReadings();
  const polling = replica.poll(11);
  await sleep(5);
  replica.reconnect();
  letGo();
  expect(await polling).toBe(11);
  expect(replica.seen).toEqual([]);
});
