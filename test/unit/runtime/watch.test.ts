import { openWatch } from '@integration-sync/runtime/watch';
import { expect, test } from 'vitest';

const everyMs = 100;
const pass = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test('a watch looks for as long as there is something to look at, and again when there is something new', async () => {
  let [left, looks] = [3, 0];
  using watch = openWatch(everyMs, () => {
    looks += 1;
    left -= 1;
    return left > 0;
  });
  await pass(5 * everyMs);
  expect(looks).toBe(0);
  watch.begin();
  watch.begin();
  await pass(10 * everyMs);
  expect(looks).toBe(3);
  left = 1;
  watch.begin();
  await pass(10 * everyMs);
  expect(looks).toBe(4);
});

test('a watch that was closed does not begin again', async () => {
  let looks = 0;
  const watch = openWatch(everyMs, () => {
    looks += 1;
    return true;
  });
  watch.begin();
  await pass(2.5 * everyMs);
  watch[Symbol.dispose]();
  watch.begin();
  await pass(5 * everyMs);
  expect(looks).toBe(2);
});
