import { expect, it } from 'vitest';
import { openShares, type ShareLimits } from '../../../services/webhooks/src/tools/shares.ts';

/** Takes in turns what it can get, and says how much each of them has. */
function takeAll(count: number, limits: ShareLimits) {
  const shares = openShares(limits);
  const names = Array.from({ length: count }, (_, n) => `acme-${n}`);
  for (let before = -1; shares.taken > before;) {
    before = shares.taken;
    for (const name of names) if (shares.mayTake(name)) shares.take(name);
  }
  return { shares, each: names.map((name) => shares.of(name)) };
}

it.each([
  { count: 1, each: 921, free: 103 },
  { count: 2, each: 482, free: 60 },
  { count: 10, each: 100, free: 24 },
])('of 1,024 places $count get nearly all, and some stay free', ({ count, each, free }) => {
  const { shares, each: all } = takeAll(count, { max: 1_024, timesFree: 10, kept: 10 });
  expect(Math.abs(shares.free - free)).toBeLessThanOrEqual(8);
  for (const own of all) expect(Math.abs(own - each)).toBeLessThanOrEqual(8);
});

it('one who has none gets some at once, and the others none until they have given some back', () => {
  const { shares } = takeAll(1, { max: 64, timesFree: 3 });
  expect(shares.of('acme-0')).toBe(48);
  expect(shares.mayTake('acme-0')).toBe(false);
  expect(shares.mayTake('other')).toBe(true);
  shares.take('other');
  shares.take('other');
  shares.giveBack('acme-0', 2);
  expect(shares.mayTake('acme-0')).toBe(true);
  shares.take('acme-0');
  expect(shares.mayTake('acme-0')).toBe(false);
});

it('the last places are for those that have none', () => {
  const { shares, each } = takeAll(3, { max: 100, timesFree: 10, kept: 5 });
  expect(each.every((own) => own > 0)).toBe(true);
  expect(shares.free).toBeGreaterThanOrEqual(5);
  while (shares.free > 5) shares.take('late');
  for (let n = 0; n < 5; n += 1) {
    expect(shares.mayTake(`late-${n}`)).toBe(true);
    shares.take(`late-${n}`);
    expect(shares.mayTake(`late-${n}`)).toBe(false);
  }
});

it('what cannot be refused counts, beyond the bound as well', () => {
  const shares = openShares({ max: 10, timesFree: 1 });
  shares.take('acme', 12);
  expect([shares.taken, shares.free, shares.mayTake('other')]).toEqual([12, 0, false]);
  shares.giveBack('acme', 12);
  expect([shares.taken, shares.free, shares.of('acme'), shares.mayTake('other')]).toEqual([0, 10, 0, true]);
});

it('few places are all given away', () => {
  const { shares } = takeAll(2, { max: 8, timesFree: 10 });
  expect(shares.taken).toBe(8);
});
