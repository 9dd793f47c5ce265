import { expect, it } from 'vitest';
import { openBatcher } from '@integration-sync/runtime/batcher';
import { openLimiter } from '../../../services/webhooks/src/tools/limiter.ts';

it('asks once for what is asked in one moment, and gives each its own answer', async () => {
  const asked: number[][] = [];
  const double = openBatcher<number, number>(async (all) => {
    asked.push([...all]);
    return all.map((one) => 2 * one);
  }, 3);
  expect(await Promise.all([1, 2, 3, 4].map(double))).toEqual([2, 4, 6, 8]);
  expect(asked).toEqual([[1, 2, 3], [4]]);
  expect(await double(5)).toBe(10);
  expect(asked).toHaveLength(3);
});

it('takes what comes while it asks into the next batch', async () => {
  const answers = Promise.withResolvers<number[]>();
  let batches = 0;
  const ask = openBatcher<number, number>(async (all) => {
    batches += 1;
    return batches === 1 ? answers.promise : [...all];
  }, 10);
  const first = ask(1);
  await expect.poll(() => batches).toBe(1);
  expect(await ask(2)).toBe(2);
  answers.resolve([7]);
  expect(await first).toBe(7);
});

it('asks when it is its turn, for all that came until then', async () => {
  const asked: number[][] = [];
  const ask = openBatcher<number, number>(
    async (all) => {
      asked.push([...all]);
      return [...all];
    },
    10,
    openLimiter({ max: 1 }),
  );
  expect(await Promise.all([ask(1), ask(2)])).toEqual([1, 2]);
  const third = ask(3);
  await Promise.resolve();
  await Promise.resolve();
  expect(await Promise.all([third, ...[4, 5, 6].map(ask)])).toEqual([3, 4, 5, 6]);
  expect(asked).toEqual([[1, 2], [3], [4, 5, 6]]);
});

it('fails all of a batch that fails, and none after it', async () => {
  let fails = true;
  const ask = openBatcher<number, number>(async (all) => {
    if (fails) throw new Error('away');
    return [...all];
  }, 10);
  const outcomes = await Promise.allSettled([ask(1), ask(2)]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  fails = false;
  expect(await ask(3)).toBe(3);
});
