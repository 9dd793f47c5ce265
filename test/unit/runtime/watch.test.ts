import { openWatch } from '@integration-sync/runtime/watch';
import { expect, test } from 'vitest';
import { pause } from '../../support/pause.ts';

const everyMs = 100;

test('a watch polls while it has operations, and again for new operations', async () => {
  let [left, looks] = [3, 0];
  using watch = openWatch(everyMs, () => {
    looks += 1;
    left -= 1;
    return left > 0;
  });
  await pause(5 * everyMs);
  expect(looks).toBe(0);
  watch.begin();
  watch.begin();
  await pause(10 * everyMs);
  expect(looks).toBe(3);
  left = 1;
  watch.begin();
  await pause(10 * everyMs);
  expect(looks).toBe(4);
});

test('a watch that was closed does not begin again', async () => {
  let looks = 0;
  const watch = openWatch(everyMs, () => {
    looks += 1;
    return true;
  });
  watch.begin();
  await pause(2.5 * everyMs);
  watch[Symbol.dispose]();
  watch.begin();
  await pause(5 * everyMs);
  expect(looks).toBe(2);
});
