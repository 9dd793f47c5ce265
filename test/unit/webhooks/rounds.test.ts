import { expect, it } from 'vitest';
import { askInRounds } from '../../../services/webhooks/src/rounds.ts';
import { openTurns } from '../../../services/webhooks/src/turns.ts';

it('asks once for what is asked in one moment, and gives each its own answer', async () => {
  const asked: number[][] = [];
  const double = askInRounds<number, number>(async (all) => {
    asked.push([...all]);
    return all.map((one) => 2 * one);
  }, 3);
  expect(await Promise.all([1, 2, 3, 4].map(double))).toEqual([2, 4, 6, 8]);
  expect(asked).toEqual([[1, 2, 3], [4]]);
  expect(await double(5)).toBe(10);
  expect(asked).toHaveLength(3);
});

it('takes what comes while it asks into the next round', async () => {
  const answers = Promise.withResolvers<number[]>();
  let rounds = 0;
  const ask = askInRounds<number, number>(async (all) => {
    rounds += 1;
    return rounds === 1 ? answers.promise : [...all];
  }, 10);
  const first = ask(1);
  await expect.poll(() => rounds).toBe(1);
  expect(await ask(2)).toBe(2);
  answers.resolve([7]);
  expect(await first).toBe(7);
});

it('asks when it is its turn, for all that came until then', async () => {
  const asked: number[][] = [];
  const ask = askInRounds<number, number>(
    async (all) => {
      asked.push([...all]);
      return [...all];
    },
    10,
    openTurns({ max: 1 }),
  );
  expect(await Promise.all([ask(1), ask(2)])).toEqual([1, 2]);
  const third = ask(3);
  await Promise.resolve();
  await Promise.resolve();
  expect(await Promise.all([third, ...[4, 5, 6].map(ask)])).toEqual([3, 4, 5, 6]);
  expect(asked).toEqual([[1, 2], [3], [4, 5, 6]]);
});

it('fails all of a round that fails, and nobody after it', async () => {
  let fails = true;
  const ask = askInRounds<number, number>(async (all) => {
    if (fails) throw new Error('away');
    return [...all];
  }, 10);
  const outcomes = await Promise.allSettled([ask(1), ask(2)]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  fails = false;
  expect(await ask(3)).toBe(3);
});
