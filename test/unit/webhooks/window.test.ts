import type { ReadOptions, StoredMessage } from '@integration-sync/runtime/bus';
import { packEventBatches } from '@integration-sync/contracts';
import { expect, it } from 'vitest';
import { Windows } from '../../../services/webhooks/src/log/window.ts';
import { batchOf, windowOf } from '../../support/webhook-parts.ts';

const sequenceOf = (found: ReturnType<ReturnType<typeof windowOf>['at']>) =>
  typeof found === 'object' ? found.sequence : found;

const stored = (sequence: number, bytes = 10): StoredMessage => {
  const body = JSON.stringify({
    event: 'supplier.created',
    timestamp: '2026-01-01T00:00:00Z',
    data: 'x'.repeat(bytes),
  });
  const [message] = packEventBatches({
    announcer: 'catalog',
    integration: 'acme',
    events: [{ id: `${sequence}-0`, body }],
    acks: [{ sequence, duplicate: false }],
  });
  return {
    subject: 'event-batches.1.catalog.acme',
    id: '',
    body: Buffer.from(message?.body ?? ''),
    sequence,
    storedAt: new Date(),
  };
};

/** A log of these sequences; `asked` says from where it was read. */
function logOf(sequences: readonly number[], bytes?: number) {
  const asked: number[] = [];
  const window = windowOf(async function* (_stream, { from }) {
    const first = 'sequence' in from ? from.sequence : 0;
    asked.push(first);
    for (const sequence of sequences) if (sequence >= first) yield stored(sequence, bytes);
  });
  return { window, asked };
}

it('a search of the window gives the first event batch at or after a sequence, or the end of the window', () => {
  const window = windowOf();
  expect(window.at(1)).toBe('end');
  for (const sequence of [3, 7, 20]) window.add(batchOf(sequence));
  expect([1, 3, 4, 7, 8, 20, 21].map((from) => sequenceOf(window.at(from)))).toEqual([
    3,
    3,
    7,
    7,
    20,
    20,
    'end',
  ]);
  expect(window.through).toBe(20);
});

it('the window keeps the newest 2 MiB', () => {
  const window = windowOf();
  for (let sequence = 1; sequence <= 30; sequence += 1) window.add(batchOf(sequence, 1, { bytes: 200_000 }));
  expect([1, 20, 21, 30].map((from) => sequenceOf(window.at(from)))).toEqual([undefined, undefined, 21, 30]);
});

it('the window reads batches that are no longer in memory from the log, once for all readers', async () => {
  const { window, asked } = logOf([3, 7, 20, 25]);
  for (const sequence of [3, 7, 20, 25]) window.add(batchOf(sequence));
  window.clear();
  window.add(batchOf(30));
  expect(window.at(2)).toBeUndefined();
  await Promise.all([window.load(2), window.load(2)]);
  expect(asked).toEqual([2]);
  expect([2, 4, 8, 21, 26].map((from) => sequenceOf(window.at(from)))).toEqual([3, 7, 20, 25, 30]);
});

it('the window reads at most 2 MiB in one read', async () => {
  const { window } = logOf([1, 2, 3, 4], 600_000);
  for (const sequence of [1, 2, 3, 4]) window.add(batchOf(sequence));
  window.clear();
  await window.load(1);
  expect([1, 2, 3].map((from) => sequenceOf(window.at(from)))).toEqual([1, 2, undefined]);
  await window.load(3);
  expect([3, 4, 5].map((from) => sequenceOf(window.at(from)))).toEqual([3, 4, 'end']);
});

it('the window skips batches that the log no longer has', async () => {
  const { window } = logOf([7]);
  for (const sequence of [3, 7]) window.add(batchOf(sequence));
  window.clear();
  await window.load(1);
  expect([1, 3, 8].map((from) => sequenceOf(window.at(from)))).toEqual([7, 7, 'end']);
});

it('the window keeps all batches of a read, also beyond its byte limit, and continues after these batches', async () => {
  const log = [1, 2, 3, 4, 9, 11].map((sequence) => stored(sequence, 1_000));
  const asked: number[] = [];
  // Each question brings two messages, until there are bytes enough.
  const bus = {
    async *readStream(_stream: string, { from, bytesMax = Infinity }: ReadOptions) {
      const first = 'sequence' in from ? from.sequence : 0;
      asked.push(first);
      const rest = log.filter(({ sequence }) => sequence >= first);
      for (let at = 0, bytes = 0; at < rest.length && bytes < bytesMax; at += 2) {
        for (const message of rest.slice(at, at + 2)) {
          bytes += message.body.length;
          yield message;
        }
      }
    },
  };
  const window = new Windows({ bus, read: ({ sequence }) => batchOf(sequence), readBytesMax: 1_000 }).open(
    'acme',
    1,
  );
  window.jump(20);
  const found: (number | string | undefined)[] = [];
  for (let sequence = 1; sequence <= 20;) {
    const next = window.at(sequence);
    if (next === undefined) await window.load(sequence);
    else {
      found.push(sequenceOf(next));
      sequence = typeof next === 'object' ? next.sequence + 1 : 21;
    }
  }
  expect(found).toEqual([1, 2, 3, 4, 9, 11, 'end']);
  expect(asked).toEqual([1, 3, 5, 12]);
});

it('a chunk that the window has loaded already for another reader is not read again', async () => {
  const { window, asked } = logOf([1]);
  window.jump(10);
  await window.load(1);
  await window.load(1);
  expect(asked).toEqual([1]);
});
