import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import {
  chunkItems,
  giveWay,
  inChunks,
  nextChunkItems,
  noteShortWork,
  turnToRead,
} from '@integration-sync/runtime/pace';
import { countTurns } from '../../support/turns.ts';

/** The turn in `NAME in turn N`. */
const turnOf = (line = ''): number => Number(line.split(' ').at(-1));

/** How many items each turn of the event loop did. */
async function chunkSizes<One>(
  all: readonly One[],
  work: (one: One, index: number) => void,
): Promise<number[]> {
  const turns = countTurns();
  const countByTurn = new Map<number, number>();
  await inChunks(all, (one, index) => {
    work(one, index);
    countByTurn.set(turns.count, (countByTurn.get(turns.count) ?? 0) + 1);
  });
  turns.stop();
  return [...countByTurn.values()];
}

it('one chunk of long work runs in each turn of the event loop', async () => {
  const turns = countTurns();
  const seen: number[] = [];
  const work = async (): Promise<void> => {
    for (let piece = 0; piece < 4; piece += 1) {
      await giveWay(chunkItems + 1);
      seen.push(turns.count);
    }
  };
  await Promise.all([work(), work(), work()]);
  turns.stop();
  expect(seen).toHaveLength(12);
  expect(new Set(seen).size).toBe(12);
});

it('short work runs before waiting long work', async () => {
  const turns = countTurns();
  const long = giveWay(chunkItems + 1);
  await giveWay(chunkItems);
  await inChunks(Array.from({ length: chunkItems }), () => undefined);
  expect(turns.count).toBe(0);
  await long;
  turns.stop();
});

it('long work handles its items in order, one chunk in each turn of the event loop', async () => {
  const all = Array.from({ length: 2 * chunkItems + 1 }, (_, index) => index);
  const seen: number[] = [];
  const sizes = await chunkSizes(all, (one, index) => {
    expect(one).toBe(index);
    seen.push(one);
  });
  expect(seen).toEqual(all);
  expect(sizes).toEqual([chunkItems, chunkItems, 1]);
});

it('long work uses smaller chunks while there is short work, also when the short work comes in the middle', async () => {
  const sizes = await chunkSizes(Array.from({ length: 2 * chunkItems }), (_, index) => {
    if (index === 0) noteShortWork();
  });
  const small = nextChunkItems();
  expect(small).toBeLessThan(chunkItems / 2);
  const rest = Array.from({ length: Math.ceil(chunkItems / small) - 1 }, () => small);
  expect(sizes).toEqual([chunkItems, ...rest, chunkItems - rest.length * small]);
  await wait(150);
  expect(nextChunkItems()).toBe(chunkItems);
});

it('long work without items does nothing, and an error reaches the caller', async () => {
  await inChunks([], () => expect.fail('there is nothing'));
  const failing = inChunks([1, 2], (one) => {
    if (one === 2) throw new Error('no two');
  });
  await expect(failing).rejects.toThrow('no two');
});

it('one large body is read in each turn of the event loop, and small ones in the order in which they came', async () => {
  const turns = countTurns();
  const seen: string[] = [];
  const read = async (name: string, bytes: number): Promise<void> => {
    await turnToRead(bytes);
    seen.push(`${name} in turn ${turns.count}`);
  };
  await read('first', 1_000);
  expect(seen).toEqual(['first in turn 0']);
  await Promise.all([read('second', 1e6), read('third', 1_000), read('fourth', 1e6)]);
  expect(seen.map((line) => line.split(' ')[0])).toEqual(['first', 'second', 'third', 'fourth']);
  expect(new Set(seen.map(turnOf)).size).toBe(4);
  await read('last', 1_000);
  expect(turnOf(seen.at(-1))).toBe(turnOf(seen.at(-2)));
  turns.stop();
});
