import { openLog } from '@integration-sync/runtime/log';
import { openPeriodicCheck } from '@integration-sync/runtime/periodic-check';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const log = openLog({ service: 'test', level: 'silent' });
const options = { what: 'a thing', everyMs: 100, log };

it('a periodic check is repeated, also after a failure', async () => {
  let count = 0;
  const checks = openPeriodicCheck(async () => {
    count += 1;
    if (count === 2) throw new Error('the engine is away');
  }, options);
  await vi.advanceTimersByTimeAsync(350);
  expect(count).toBe(3);
  await checks[Symbol.asyncDispose]();
  await vi.advanceTimersByTimeAsync(350);
  expect(count).toBe(3);
});

it('periodic checks never overlap, and all requests during a check cause one further check', async () => {
  const ends: (() => void)[] = [];
  const checks = openPeriodicCheck(() => new Promise((resolve) => void ends.push(resolve)), options);
  checks.now();
  for (let n = 0; n < 5; n += 1) checks.now();
  await vi.advanceTimersByTimeAsync(250);
  expect(ends).toHaveLength(1);
  ends[0]?.();
  await vi.advanceTimersByTimeAsync(0);
  expect(ends).toHaveLength(2);
  const closing = checks[Symbol.asyncDispose]();
  checks.now();
  ends[1]?.();
  await closing;
  expect(ends).toHaveLength(2);
});
