// The orders between times in different files: what must end before something else begins.
import { orders, timeIn, timeOf } from '../support/times.ts';
import { expect, it } from 'vitest';

it.each(orders)('the time $short is shorter than $long: $why', ({ short, long, times = 1 }) => {
  expect(timeOf(short) * times).toBeLessThan(timeOf(long) + (times === 1 ? 0 : 1));
});

it.each([
  ['const aMs = 2 * 1_000;', 2_000],
  ['{ aMs: 5 }', 5],
])('a time is read from %j', (text, ms) => {
  expect(timeIn(text, 'aMs')).toBe(ms);
});

it.each([
  ['const otherMs = 1;', 'no constant in milliseconds is called aMs'],
  ['const aMs = bMs;', 'no constant in milliseconds is called aMs'],
  ['{ aMs: 5 }; { aMs: 7 }', '2 constants are called aMs'],
])('no time is read from %j', (text, why) => {
  expect(() => timeIn(text, 'aMs')).toThrow(why);
});
