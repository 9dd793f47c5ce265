import { expect, it } from 'vitest';
import { steadyClock } from '../../../shared/sync/src/clock.ts';

it('the clock of a service stands still while the machine’s clock is set back by seconds, and follows a greater set-back', () => {
  let machine = 100_000;
  const clock = steadyClock(() => machine);
  const after = (ms: number): number => {
    machine += ms;
    return clock();
  };
  expect(after(500)).toBe(100_500);
  expect(after(-400)).toBe(100_500);
  expect(after(300)).toBe(100_500);
  expect(after(200)).toBe(100_600);
  expect(after(86_400_000)).toBe(86_500_600);
  expect(after(-86_400_000)).toBe(100_600);
  expect(after(100)).toBe(100_700);
});
