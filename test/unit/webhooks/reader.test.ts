// How far a replica has read the log, whatever becomes of what it has read.
import { openLog } from '@integration-sync/runtime/log';
import { packEventBatches } from '@integration-sync/contracts';
import type { FollowedMessage, FollowOptions } from '@integration-sync/runtime/bus';
import { expect, it } from 'vitest';
import { openLogReader } from '../../../services/webhooks/src/log/reader.ts';

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
async function setUp(take: (sequences: readonly number[]) => Promise<void> = async () => undefined) {
  const taken: number[] = [];
  const begun: number[] = [];
  let following: FollowOptions | undefined;
  const reader = openLogReader({
    bus: {
      follow(_stream, options) {
        following = options;
        void options.from().then((from) => begun.push(from));
        return {
          failingForMs: 0,
          isAtEnd: async () => true,
          async [Symbol.asyncDispose]() {
            following = undefined;
          },
        };
      },
      streamFacts: async () => ({ madeAt: new Date(0), messages: 0, firstSequence: 1, lastSequence: 0 }),
    },
    async take(batches) {
      const sequences = batches.map(({ sequence }) => sequence);
      await take(sequences);
      taken.push(...sequences);
    },
    isSameStream: async () => true,
    ensure: async () => undefined,
    log: openLog({ service: 'test', level: 'silent' }),
  });
  const write = async (sequence: number, partition: number): Promise<void> => {
    await following?.onMessage(messageOf(sequence, partition));
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { reader, taken, begun, write };
}

it('begins after the lowest floor, and passes over what is below the floor of its partition', async () => {
  const { reader, taken, begun, write } = await setUp();
  await using _reader = reader;
  await reader.add(new Map([[1, 10], [2, 20]])); // prettier-ignore
  await write(11, 1);
  await write(15, 2);
  await write(21, 2);
  expect([begun, taken]).toEqual([[11], [11, 21]]);
  expect([reader.readThrough(1), reader.readThrough(2), reader.readThrough(3)]).toEqual([21, 21, undefined]);
});

it('says how far it has read what it gives up, and goes on with the others where it was', async () => {
  const { reader, taken, begun, write } = await setUp();
  await using _reader = reader;
  await reader.add(new Map([[1, 0], [2, 0]])); // prettier-ignore
  await write(5, 1);
  expect(await reader.remove([1])).toEqual(new Map([[1, 5]]));
  await write(6, 2);
  expect([begun, taken, reader.readThrough(1), reader.readThrough(2)]).toEqual([
    [1, 6],
    [5, 6],
    undefined,
    6,
  ]);
});

it('has not read what could not be taken', async () => {
  const { reader, write } = await setUp(async ([sequence = 0]) => {
    if (sequence > 5) throw new Error('the process stops');
  });
  await using _reader = reader;
  await reader.add(new Map([[1, 0]]));
  await write(5, 1);
  await write(6, 1);
  await write(7, 1);
  expect(await reader.remove([1])).toEqual(new Map([[1, 5]]));
});
