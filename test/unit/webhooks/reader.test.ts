// How far a replica has read the log, whatever becomes of what it has read.
import { openLog } from '@integration-sync/runtime/log';
import { packEventBatches } from '@integration-sync/contracts';
import type { FollowedMessage, FollowOptions } from '@integration-sync/runtime/bus';
import { expect, it } from 'vitest';
import { LogReader, type ReadPartition } from '../../../services/webhooks/src/log/reader.ts';

const messageOf = (sequence: number, partition: number): FollowedMessage => {
  const [message] = packEventBatches({
    announcer: 'catalog',
    integration: 'acme',
    events: [{ id: `${sequence}`, body: '{}' }],
    places: [{ sequence, duplicate: false }],
  });
  return {
    subject: `event-batches.${partition}.catalog.acme`,
    sequence,
    storedAt: new Date(),
    body: Buffer.from(message?.body ?? ''),
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
  const refused = Promise.withResolvers<string>();
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
          isAtEnd: async () => true,
          async [Symbol.asyncDispose]() {
            following = undefined;
          },
        };
      },
    },
    async take(batches) {
      const sequences = batches.map(({ sequence }) => sequence);
      await take(sequences);
      taken.push(...sequences);
    },
    stream: { look: async () => ({ id: streamId, firstSequence: 1, lastSequence: 0 }) },
    ensure: async () => undefined,
    log: openLog({ service: 'test', level: 'silent' }),
  });
  const write = async (sequence: number, partition: number): Promise<void> => {
    await following?.onMessage(messageOf(sequence, partition));
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { reader, taken, begun, write, refused: refused.promise };
}

const partitionOf = (partition: number, through: number): ReadPartition => ({
  partition,
  stream: 'one',
  through,
});

it('begins after the lowest floor, and passes over what is below the floor of its partition', async () => {
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

it('says how far it has read what it gives up, and goes on with the others where it was', async () => {
  const { reader, taken, begun, write } = setUp();
  await using _reader = reader;
  const [first, second] = [partitionOf(1, 0), partitionOf(2, 0)];
  await reader.add([first, second]);
  await write(5, 1);
  await reader.remove([first]);
  await write(6, 2);
  expect([begun, taken, first.through, second.through]).toEqual([[1, 6], [5, 6], 5, 6]);
});

it('has not read what could not be taken', async () => {
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

it('begins no reading of a log that was made again, whoever has noticed that before', async () => {
  const { reader, begun, refused } = setUp(undefined, 'other');
  await using _reader = reader;
  await reader.add([partitionOf(1, 10)]);
  expect([begun, await refused]).toEqual([[], 'the log was made again']);
});
