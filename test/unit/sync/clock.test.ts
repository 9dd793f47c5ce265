import { expect, it } from 'vitest';
import { steadyClock } from '../../../shared/sync/src/clock.ts';

it('the clock of a service follows the machine, and runs at half speed while the machine’s clock is behind', () => {
  let machine = 1_000;
  let elapsed = 0;
  const pass = (ms: number): void => {
    machine += ms;
    elapsed += ms;
  };
  const clock = steadyClock(
    () => machine,
    () => elapsed,
  );
  expect(clock()).toBe(1_000);
  pass(500);
  expect(clock()).toBe(1_500);
  machine -= 400;
  expect(clock()).toBe(1_500);
  pass(200);
  expect(clock()).toBe(1_600);
  pass(200);
  expect(clock()).toBe(1_700);
  pass(600);
  expect(clock()).toBe(2_100);
  pass(100);
  expect(clock()).toBe(2_200);
});
