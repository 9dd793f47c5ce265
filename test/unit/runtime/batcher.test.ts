import { expect, it } from 'vitest';
import { oneByOne, openBatcher, shareWork } from '@integration-sync/runtime/batcher';
import { openSemaphore } from '@integration-sync/runtime/semaphore';

/** Answers each question with itself, and notes which came together. */
const echoing =
  (asked: number[][]) =>
  async (all: readonly number[]): Promise<number[]> => {
    asked.push([...all]);
    return [...all];
  };

it('concurrent questions are asked as one batch, and each gets its own answer', async () => {
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

it('questions during a batch go into the next batch', async () => {
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

it('a batch contains every question that was asked before the batch begins', async () => {
  const asked: number[][] = [];
  const ask = openBatcher(echoing(asked), 10, openSemaphore({ max: 1 }).run);
  expect(await Promise.all([ask(1), ask(2)])).toEqual([1, 2]);
  const third = ask(3);
  await Promise.resolve();
  await Promise.resolve();
  expect(await Promise.all([third, ...[4, 5, 6].map(ask)])).toEqual([3, 4, 5, 6]);
  expect(asked).toEqual([[1, 2], [3], [4, 5, 6]]);
});

it('a failed batch rejects every question in the batch, and no later question', async () => {
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

it('the first question is sent immediately, and later questions are sent together after its answer', async () => {
  const asked: number[][] = [];
  const answers = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const ask = openBatcher<number, number>(
    async (all) => {
      asked.push([...all]);
      await answers[asked.length - 1]?.promise;
      return [...all];
    },
    10,
    oneByOne({ patienceMs: 1_000 }),
  );
  const first = ask(1);
  await Promise.resolve();
  expect(asked).toEqual([[1]]);
  const others = [2, 3].map(ask);
  await new Promise((resolve) => setImmediate(resolve));
  expect(asked).toEqual([[1]]);
  answers[0]?.resolve();
  expect(await first).toBe(1);
  answers[1]?.resolve();
  expect(await Promise.all(others)).toEqual([2, 3]);
  expect(asked).toEqual([[1], [2, 3]]);
});

it('a new batch is sent while another batch has no answer, and after a failed batch', async () => {
  const ask = openBatcher<number, number>(
    (all) =>
      all.includes(1)
        ? new Promise(() => undefined)
        : all.includes(2)
          ? Promise.reject(new Error('away'))
          : Promise.resolve([...all]),
    10,
    oneByOne({ patienceMs: 20 }),
  );
  void ask(1);
  await new Promise((resolve) => setImmediate(resolve));
  const began = performance.now();
  await expect(ask(2)).rejects.toThrow('away');
  expect(await ask(3)).toBe(3);
  expect(performance.now() - began).toBe(20);
});

it('a batch begins after a pause, with all questions that were asked during the pause', async () => {
  const asked: number[][] = [];
  const ask = openBatcher(
    echoing(asked),
    10,
    oneByOne({ pause: () => new Promise((resolve) => setTimeout(resolve, 200)) }),
  );
  const began = performance.now();
  const first = ask(1);
  setTimeout(() => void ask(2), 199);
  expect(await first).toBe(1);
  expect(await ask(3)).toBe(3);
  expect(performance.now() - began).toBe(400);
  expect(asked).toEqual([[1, 2], [3]]);
});

it('shared work runs once for all callers that asked before it began', async () => {
  const begun: PromiseWithResolvers<number>[] = [];
  const work = shareWork(() => {
    const one = Promise.withResolvers<number>();
    begun.push(one);
    return one.promise;
  });
  const [first, second] = [work(), work()];
  await expect.poll(() => begun.length).toBe(1);
  const [third, fourth] = [work(), work()];
  begun[0]?.resolve(1);
  expect(await Promise.all([first, second])).toEqual([1, 1]);
  await expect.poll(() => begun.length).toBe(2);
  begun[1]?.resolve(2);
  expect(await Promise.all([third, fourth])).toEqual([2, 2]);
});

it('shared work runs again after a failure', async () => {
  let turn = 0;
  const work = shareWork(async () => {
    turn += 1;
    if (turn === 1) throw new Error('away');
    return turn;
  });
  await expect(work()).rejects.toThrow('away');
  expect(await work()).toBe(2);
});
