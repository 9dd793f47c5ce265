import { expect, it } from 'vitest';
import { shareWork } from '../../../services/webhooks/src/tools/shared-work.ts';

it('does the work once for all that ask while it is under way, and begins after they have asked', async () => {
  const begun: PromiseWithResolvers<number>[] = [];
  const work = shareWork(() => {
    const one = Promise.withResolvers<number>();
    begun.push(one);
    return one.promise;
  });
  const first = work();
  const [second, third] = [work(), work()];
  expect(begun).toHaveLength(1);
  begun[0]?.resolve(1);
  expect(await first).toBe(1);
  await expect.poll(() => begun.length).toBe(2);
  const fourth = work();
  begun[1]?.resolve(2);
  expect(await Promise.all([second, third])).toEqual([2, 2]);
  await expect.poll(() => begun.length).toBe(3);
  begun[2]?.resolve(3);
  expect(await fourth).toBe(3);
});

it('begins anew after work that failed', async () => {
  let turn = 0;
  const work = shareWork(async () => {
    turn += 1;
    if (turn === 1) throw new Error('away');
    return turn;
  });
  const [first, second] = [work(), work()];
  await expect(first).rejects.toThrow('away');
  expect(await second).toBe(2);
});
