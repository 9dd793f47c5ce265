import { setTimeout as wait } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { openLog } from '@integration-sync/runtime/log';
import { expect, it } from 'vitest';
import { openStoredMessages, type StoredMessage } from '../../../shared/runtime/src/bus/stored-messages.ts';
import type { Connection } from '../../../shared/runtime/src/bus/connection.ts';
import { follow } from '../../../shared/runtime/src/bus/follow-stream.ts';

const hourMs = 3_600_000;

/** The bytes of the heap that are in use after a collection. */
function usedBytes(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}

const message = (sequence: number): StoredMessage => ({
  sequence,
  subject: 'events.x',
  id: '',
  traceparent: undefined,
  body: new Uint8Array(),
  storedAt: new Date(0),
});

it('a follower of a stream misses no message that a new leader of the stream lacks for a moment', async () => {
  const connection: Partial<Connection> = {
    log: openLog({ service: 'test', level: 'silent' }),
    listen: () => ({ [Symbol.dispose]: () => undefined }),
    onReconnect: () => ({ [Symbol.dispose]: () => undefined }),
  };
  let lastRead = 3;
  const stored: Parameters<typeof follow>[1] = {
    streamFacts: async () => ({
      madeAt: new Date(0),
      firstSequence: 1,
      lastSequence: 5,
      lastAt: new Date(0),
    }),
    async *readStream(_stream, { from }) {
      const first = 'sequence' in from ? from.sequence : 1;
      for (let sequence = first; sequence <= lastRead; sequence += 1) yield message(sequence);
      lastRead = 5;
    },
  };
  const taken: number[] = [];
  await using _reading = follow(connection as Connection, stored, 'EVENTS', {
    subject: 'events.>',
    isMeant: () => true,
    ahead: 10,
    from: () => Promise.resolve(1),
    onMessage: ({ sequence }) => void taken.push(sequence),
    ensure: () => Promise.resolve(),
  });
  await wait(3_000);
  expect(taken).toEqual([1, 2, 3, 4, 5]);
});

it('a follower of a stream uses no more memory while NATS is away', async () => {
  let tries = 0;
  const absent: Partial<Connection> = {
    log: openLog({ service: 'test', level: 'silent' }),
    whileConnected() {
      tries += 1;
      return Promise.reject(new Error('away'));
    },
    listen: () => ({ [Symbol.dispose]: () => undefined }),
    onReconnect: () => ({ [Symbol.dispose]: () => undefined }),
  };
  const stored = openStoredMessages(absent as Connection);
  await using _reading = follow(absent as Connection, stored, 'EVENTS', {
    subject: 'events.>',
    isMeant: () => true,
    ahead: 1,
    from: () => Promise.resolve(1),
    onMessage: () => undefined,
    ensure: () => Promise.resolve(),
  });
  await wait(hourMs / 6);
  const [bytesBefore, triesBefore] = [usedBytes(), tries];
  await wait(hourMs);
  expect(tries - triesBefore).toBeGreaterThan(10_000);
  expect(usedBytes() - bytesBefore).toBeLessThan(1_500_000);
});
