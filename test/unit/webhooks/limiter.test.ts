import { afterEach, expect, it, vi } from 'vitest';
import { openLimiter } from '../../../services/webhooks/src/tools/limiter.ts';

afterEach(() => void vi.useRealTimers());

it('lets so many work at once, the others in the order in which they came, and fails alone', async () => {
  const limit = openLimiter({ max: 2 });
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const works = [1, 2, 3, 4].map((n) =>
    limit(async () => {
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
  expect(await limit(async () => 5)).toBe(5);
});

it('lets one work at a time until a caller has waited long enough, and then several', async () => {
  vi.useFakeTimers();
  const limit = openLimiter({ max: 3, patienceMs: 100 });
  let underWay = 0;
  let most = 0;
  const work = (ms: number) => async (): Promise<void> => {
    underWay += 1;
    most = Math.max(most, underWay);
    await new Promise((resolve) => setTimeout(resolve, ms));
    underWay -= 1;
  };
  const short = Promise.all(Array.from({ length: 10 }, () => limit(work(2))));
  await vi.advanceTimersByTimeAsync(90);
  await short;
  expect(most).toBe(1);
  const long = Promise.all(Array.from({ length: 5 }, () => limit(work(300))));
  await vi.advanceTimersByTimeAsync(1_500);
  await long;
  expect(most).toBe(3);
});

it('gives integrations their turns one after the other, however much one of them asks for', async () => {
  const limit = openLimiter({ max: 1 });
  const begun: string[] = [];
  const work = (name: string) => async (): Promise<void> => {
    begun.push(name);
    await new Promise((resolve) => setImmediate(resolve));
  };
  await Promise.all([
    ...[1, 2, 3, 4, 5].map((n) => limit(work(`busy ${n}`), 'busy')),
    ...[1, 2].map((n) => limit(work(`other ${n}`), 'other')),
  ]);
  expect(begun).toEqual(['busy 1', 'busy 2', 'other 1', 'busy 3', 'other 2', 'busy 4', 'busy 5']);
});

it('keeps a turn for an integration that has none', async () => {
  const limit = openLimiter({ max: 2, perIntegrationMax: 1 });
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const work = (name: string) => async (): Promise<void> => {
    begun.push(name);
    await new Promise<void>((resolve) => ends.push(resolve));
  };
  const all = [limit(work('busy 1'), 'busy'), limit(work('busy 2'), 'busy')];
  await Promise.resolve();
  all.push(limit(work('other'), 'other'));
  await expect.poll(() => begun).toEqual(['busy 1', 'other']);
  ends[0]?.();
  await expect.poll(() => begun).toEqual(['busy 1', 'other', 'busy 2']);
  for (const end of ends) end();
  await Promise.all(all);
});
