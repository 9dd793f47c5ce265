// Reading the attempt log: each log is read whole, so few are at once, and none for somebody who has gone.
import { openLog } from '@integration-sync/runtime/log';
import { expect, it } from 'vitest';
import { openAttemptLog } from '../../../services/webhooks/src/attemptlog.ts';

function openBus() {
  const seen = { now: 0, most: 0, readings: 0 };
  const bus = {
    publishBatch: async () => [],
    purge: async () => 0,
    async *readStream() {
      seen.readings += 1;
      seen.now += 1;
      seen.most = Math.max(seen.most, seen.now);
      await new Promise((resolve) => setTimeout(resolve, 5));
      seen.now -= 1;
      yield* [];
    },
  };
  return { bus, seen };
}

it('reads few logs at once, however many are asked for, and each of them in the end', async () => {
  const { bus, seen } = openBus();
  await using log = openAttemptLog(bus, openLog({ service: 'test', level: 'silent' }), 'replica');
  const until = Date.now() + 10_000;
  const all = await Promise.all(Array.from({ length: 50 }, () => log.read('wh_1', until)));
  expect(all).toHaveLength(50);
  expect(seen).toMatchObject({ readings: 50, most: 4 });
});

it('reads nothing for somebody who no longer waits', async () => {
  const { bus, seen } = openBus();
  await using log = openAttemptLog(bus, openLog({ service: 'test', level: 'silent' }), 'replica');
  await expect(log.read('wh_1', Date.now() - 1)).rejects.toMatchObject({ code: 'timeout' });
  expect(seen.readings).toBe(0);
});
