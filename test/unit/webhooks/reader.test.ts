// How far a replica has read the log, whatever becomes of what it has read.
import { setTimeout as wait } from 'node:timers/promises';
import { openLog } from '@integration-sync/runtime/log';
import { packEventBatches } from '@integration-sync/contracts';
import type { FollowedMessage, FollowOptions } from '@integration-sync/runtime/bus';
import { expect, it } from 'vitest';
import { LogReader, type ReadPartition } from '../../../services/webhooks/src/log/log-reader.ts';

const messageOf = (sequence: number, partition: number, body?: string): FollowedMessage => {
  const [message] = packEventBatches({
    announcer: 'catalog',
    integration: 'acme',
    events: [{ id: `${sequence}`, body: '{}' }],
    acks: [{ sequence, duplicate: false }],
  });
  return {
    subject: `event-batches.${partition}.catalog.acme`,
    sequence,
    storedAt: new Date(),
    body: Buffer.from(body ?? message?.body ?? ''),
  };
};

/** A log that the test writes; `taken` says which sequences the reader has handed on. */
function setUp(
  take: (sequences: readonly number[]) => Promise<void> = async () => undefined,
  streamId = 'one',
) {
  const taken: number[] = [];
  const begun: number[] = [];
  let following: FollowOptions | undefined;
  /** Of the log, and of the partitions: what the stream's leader says. */
  const ends = { log: 0, partitions: 0 };
  const refused = Promise.withResolvers<string>();
  const look = async () => ({
    id: streamId,
    createdAt: streamId,
    firstSequence: 1,
    lastSequence: ends.log,
  });
  const reader = new LogReader({
    bus: {
      follow(_stream, options) {
        following = options;
        options.from().then(
          (from) => begun.push(from),
          (error: Error) => refused.resolve(error.message),
        );
        return {
          failingForMs: 0,
          async [Symbol.asyncDispose]() {
            following = undefined;
          },
        };
      },
      hasAfter: async (_stream, _subject, sequence) => ends.partitions > sequence,
    },
    async take(batches) {
      const sequences = batches.map(({ sequence }) => sequence);
      await take(sequences);
      taken.push(...sequences);
    },
    stream: { look, refresh: look, saw: () => undefined },
    ensure: async () => undefined,
    log: openLog({ service: 'test', level: 'silent' }),
  });
  const write = async (sequence: number, partition: number, body?: string): Promise<void> => {
    await following?.onMessage(messageOf(sequence, partition, body));
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { reader, taken, begun, write, ends, refused: refused.promise };
}

const partitionOf = (partition: number, through: number): ReadPartition => ({
  partition,
  stream: 'one',
  through,
});

it('the reader begins after the lowest floor, and skips batches below the floor of their partition', async () => {
  const { reader, taken, begun, write } = setUp();
  await using _reader = reader;
  const [first, second] = [partitionOf(1, 10), partitionOf(2, 20)];
  await reader.add([first, second]);
  await write(11, 1);
  await write(15, 2);
  await write(21, 2);
  expect([begun, taken]).toEqual([[11], [11, 21]]);
  expect([first.through, second.through]).toEqual([21, 21]);
});

it('the reader returns the floors of released partitions, and goes on with other partitions', async () => {
  const { reader, taken, begun, write } = setUp();
  await using _reader = reader;
  const [first, second] = [partitionOf(1, 0), partitionOf(2, 0)];
  await reader.add([first, second]);
  await write(5, 1);
  await reader.remove([first]);
  await write(6, 2);
  expect([begun, taken, first.through, second.through]).toEqual([[1, 6], [5, 6], 5, 6]);
});

it('the reader moves no floor past a batch whose handling failed', async () => {
  const { reader, write } = setUp(async ([sequence = 0]) => {
    if (sequence > 5) throw new Error('the process stops');
  });
  await using _reader = reader;
  const first = partitionOf(1, 0);
  await reader.add([first]);
  await write(5, 1);
  await write(6, 1);
  await write(7, 1);
  await reader.remove([first]);
  expect(first.through).toBe(5);
});

it('the reader does not read a log that was created again', async () => {
  const { reader, begun, refused } = setUp(undefined, 'other');
  await using _reader = reader;
  await reader.add([partitionOf(1, 10)]);
  expect([begun, await refused]).toEqual([
    [],
    'EVENT_BATCHES was created again or restored after its partitions were claimed',
  ]);
});

/** Reads one message, and lets the reader compare it with what the leader has by then. */
async function checkedAfter(leader: { log: number; partitions: number }, body?: string) {
  const { reader, taken, write, ends } = setUp();
  const first = partitionOf(1, 0);
  await reader.add([first]);
  await write(5, 1, body);
  Object.assign(ends, leader);
  await wait(6_000);
  return { first, taken, write, [Symbol.asyncDispose]: () => reader[Symbol.asyncDispose]() };
}

it('the reader moves the floors of idle partitions to the end of the log', async () => {
  await using checked = await checkedAfter({ log: 90, partitions: 5 });
  expect([checked.taken, checked.first.through]).toEqual([[5], 90]);
});

it('the reader misses no batch that the server of its consumer gets later than the leader of the stream', async () => {
  await using checked = await checkedAfter({ log: 6, partitions: 6 });
  expect(checked.first.through).toBe(5);
  await checked.write(6, 1);
  expect([checked.taken, checked.first.through]).toEqual([[5, 6], 6]);
});

it('the reader of a partition passes over a message that is not an event batch', async () => {
  await using checked = await checkedAfter({ log: 5, partitions: 5 }, 'nonsense');
  expect(checked.first.through).toBe(5);
});
