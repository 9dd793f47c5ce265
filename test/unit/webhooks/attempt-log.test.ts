// Reading the attempt log: a replica reads each log whole, so it reads few at once, in turns over
// integrations, and none for a reader who has gone.
import { openLog } from '@integration-sync/runtime/log';
import { expect, it } from 'vitest';
import { openAttemptLog } from '../../../services/webhooks/src/delivering/attempt-log.ts';

const silent = openLog({ service: 'test', level: 'silent' });
const endpoints = { findAll: async () => [] };
const endpoint = (_id: string, integration = 'acme') => ({ _id, integration });

function openBus() {
  const seen = { now: 0, most: 0, readings: 0, order: [] as string[] };
  const bus = {
    publishBatch: async () => [],
    purge: async () => 0,
    lastAt: async () => undefined,
    async *readStream(_stream: string, { subject }: { subject: string }) {
      seen.readings += 1;
      seen.order.push(subject);
      seen.now += 1;
      seen.most = Math.max(seen.most, seen.now);
      await new Promise((resolve) => setTimeout(resolve, 5));
      seen.now -= 1;
      yield* [];
    },
  };
  return { bus, seen };
}

it('few attempt logs are read concurrently, and each request is served', async () => {
  const { bus, seen } = openBus();
  await using log = openAttemptLog(bus, endpoints, silent, 'replica');
  const until = performance.now() + 10_000;
  const all = await Promise.all(
    Array.from({ length: 50 }, (_, n) => log.read(endpoint(`wh_${n}`, `acme-${n % 5}`), until)),
  );
  expect(all).toHaveLength(50);
  expect(seen).toMatchObject({ readings: 50, most: 2 });
});

it('an integration without a running read of attempt logs does not wait for other integrations', async () => {
  const { bus, seen } = openBus();
  await using log = openAttemptLog(bus, endpoints, silent, 'replica');
  const until = performance.now() + 10_000;
  const busy = Promise.all(Array.from({ length: 20 }, (_, n) => log.read(endpoint(`wh_${n}`), until)));
  await log.read(endpoint('wh_other', 'other'), until);
  expect(seen.order.indexOf('attempts.wh_other')).toBeLessThanOrEqual(1);
  expect(seen.order.length).toBeLessThan(5);
  await busy;
});

it('an attempt log is read once for all requests that wait for the read, and again for later requests', async () => {
  const { bus, seen } = openBus();
  await using log = openAttemptLog(bus, endpoints, silent, 'replica');
  const soon = performance.now() + 10_000;
  const first = log.read(endpoint('wh_1'), soon);
  await expect.poll(() => seen.readings).toBe(1);
  // The first of them has gone when its turn comes, and the last one has not.
  const others = [performance.now() - 1, soon].map((until) => log.read(endpoint('wh_1'), until));
  await Promise.all([first, ...others]);
  expect(seen.readings).toBe(2);
  await log.read(endpoint('wh_1'), soon);
  expect(seen.readings).toBe(3);
});

it('no attempt log is read for a caller that stopped waiting', async () => {
  const { bus, seen } = openBus();
  await using log = openAttemptLog(bus, endpoints, silent, 'replica');
  await expect(log.read(endpoint('wh_1'), performance.now() - 1)).rejects.toMatchObject({ code: 'timeout' });
  expect(seen.readings).toBe(0);
});
