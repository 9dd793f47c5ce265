import { expect, it } from 'vitest';
import { openTurns } from '../../../services/webhooks/src/turns.ts';

it('lets so many work at once, the others in the order in which they came, and fails alone', async () => {
  const inTurn = openTurns({ max: 2 });
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const works = [1, 2, 3, 4].map((n) =>
    inTurn(async () => {
      begun.push(n);
      await new Promise<void>((resolve) => ends.push(resolve));
      if (n === 1) throw new Error('one fails');
      return n;
    }),
  );
  const first = works[0]?.catch((error: unknown) => error);
  await Promise.resolve();
  expect(begun).toEqual([1, 2]);
  ends[0]?.();
  expect(await first).toEqual(new Error('one fails'));
  await expect.poll(() => begun).toEqual([1, 2, 3]);
  ends[1]?.();
  ends[2]?.();
  expect(await works[1]).toBe(2);
  expect(await works[2]).toBe(3);
  await expect.poll(() => begun).toEqual([1, 2, 3, 4]);
  ends[3]?.();
  expect(await works[3]).toBe(4);
  expect(await inTurn(async () => 5)).toBe(5);
});

it('lets one work at a time until somebody has waited long enough, and then several', async () => {
  const inTurn = openTurns({ max: 3, patienceMs: 100 });
  let underWay = 0;
  let most = 0;
  const work = (ms: number) => async (): Promise<void> => {
    underWay += 1;
    most = Math.max(most, underWay);
    await new Promise((resolve) => setTimeout(resolve, ms));
    underWay -= 1;
  };
  await Promise.all(Array.from({ length: 10 }, () => inTurn(work(2))));
  expect(most).toBe(1);
  await Promise.all(Array.from({ length: 5 }, () => inTurn(work(300))));
  expect(most).toBe(3);
});
