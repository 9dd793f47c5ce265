// What a replica keeps of the newest part of a log between two callers, and when it asks nats-server again.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Broadcast, StoredMessage, StreamFacts } from '@integration-sync/runtime/bus';
import { openLog } from '@integration-sync/runtime/log';
import { packEventBatches } from '@integration-sync/contracts';
import { afterEach, expect, it, vi } from 'vitest';
import { openTails } from '../../../services/webhooks/src/feed/tail.ts';
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
    places: [{ sequence, duplicate: false }],
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
  const own: number[] = [];
  let lastSequence = 10;
  let questions = 0;
  const listeners = new Set<(message: Broadcast) => void>();
  const gaps = new Set<() => void>();
  const log = openLog({ service: 'webhooks', level: 'silent', pretty: false });
  const bus = {
    async streamFacts(): Promise<StreamFacts> {
      questions += 1;
      return { madeAt, firstSequence: 1, lastSequence };
    },
    async *readStream(_stream: string, { from }: { from: { sequence: number } | { time: Date } }) {
      const first = 'sequence' in from ? from.sequence : 0;
      for (const sequence of own) if (sequence >= first) yield stored(sequence);
    },
    listen(_subject: string, onMessage: (message: Broadcast) => void, onGap?: () => void): Disposable {
      if (onGap !== undefined) gaps.add(onGap);
      listeners.add(onMessage);
      return { [Symbol.dispose]: () => void listeners.delete(onMessage) };
    },
  };
  const tails = openTails(bus, log);
  const announce = (): void => {
    const message = { subject: 'event-batches.catalog.acme', headers: new Map(), body: new Uint8Array() };
    for (const onMessage of Array.from(listeners)) onMessage(message);
  };
  return {
    tails,
    announce,
    /** The NATS connection was down: announcements may be lost. */
    reconnect(): void {
      for (const onGap of gaps) onGap();
    },
    store: () => void own.push((lastSequence += 1)),
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
        const found = tail.window.at(place);
        if (found !== undefined) return found === 'end' ? undefined : found.sequence;
        await tail.window.load(place);
      }
    },
  };
}

it('asks nothing for a caller that comes back to wait at the end of the log', async () => {
  const replica = openReplica();
  expect(await replica.poll(11)).toBeUndefined();
  await replica.tails.facts();
  expect([replica.questions, replica.listeners]).toEqual([2, 1]);
  expect(await replica.poll(11)).toBeUndefined();
  expect([replica.questions, replica.listeners]).toEqual([2, 1]);
});

it('asks where the log has grown since, what is known is old, or the caller does not wait', async () => {
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

it('shows the next caller what was announced between two', async () => {
  const replica = openReplica();
  await replica.poll(11);
  await replica.tails.facts();
  replica.announce();
  expect(replica.listeners).toBe(0);
  replica.store();
  expect(await replica.poll(11)).toBe(11);
});

it('shows the next caller what was announced to the one before, and stored after it left', async () => {
  const replica = openReplica();
  expect(await replica.poll(11, replica.announce)).toBeUndefined();
  await sleep(50);
  await replica.tails.facts();
  replica.store();
  expect(await replica.poll(11)).toBe(11);
});

it('wakes a caller where the next one finds what was announced while the connection was down', async () => {
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

it('listens for a minute after the last caller', async () => {
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
