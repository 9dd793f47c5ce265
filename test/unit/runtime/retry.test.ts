import { openLog } from '@integration-sync/runtime/log';
import { openRetry, retry } from '@integration-sync/runtime/retry';
import { expect, it } from 'vitest';
import { openTestLog } from '../../support/log.ts';

/** Fails so many times, and then works. */
function failing(times: number) {
  const done = { tries: 0, work };
  async function work(): Promise<string> {
    done.tries += 1;
    if (done.tries <= times) throw new Error(`failed ${done.tries}`);
    return 'done';
  }
  return done;
}

const pause = (): Promise<void> => Promise.resolve();

it('a retry repeats the work after a pause until it succeeds', async () => {
  const { work } = failing(2);
  const seen: string[] = [];
  const done = retry(work, {
    mayRetry(error, { tries }) {
      seen.push(`${String(error)} of ${tries}`);
      return true;
    },
    pause: async () => seen.push('pause'),
  });
  expect(await done).toBe('done');
  expect(seen).toEqual(['Error: failed 1 of 1', 'pause', 'Error: failed 2 of 2', 'pause']);
});

it('a retry ends with the last error where the work may not be repeated, and where its pause is aborted', async () => {
  const some = failing(9);
  const upToTwo = { mayRetry: (_error: unknown, { tries }: { tries: number }) => tries < 2, pause };
  await expect(retry(some.work, upToTwo)).rejects.toThrow('failed 2');
  const cutOff = { mayRetry: () => true, pause: () => Promise.reject(new Error('stopping')) };
  await expect(retry(some.work, cutOff)).rejects.toThrow('stopping');
  expect(some.tries).toBe(3);
});

it('a retry reports for how long the work has failed', async () => {
  const forMs: number[] = [];
  await retry(failing(3).work, {
    mayRetry: (_error, failed) => forMs.push(failed.forMs) > 0,
    pause: () => new Promise((resolve) => setTimeout(resolve, 100)),
  });
  expect(forMs).toEqual([0, 100, 200]);
});

it('a retry repeats every half second, and logs three times in 20 s', async () => {
  const { log, text } = openTestLog();
  const again = openRetry(log, new AbortController().signal);
  const beganAt = performance.now();
  expect(await again('storing', failing(40).work)).toBe('done');
  expect(performance.now() - beganAt).toBe(20_000);
  expect(text().match(/MongoDB or NATS failed, trying again/g)).toHaveLength(3);
});

it('a retry ends with the reason of its abort signal', async () => {
  const stop = new AbortController();
  const again = openRetry(openLog({ service: 'test', level: 'silent' }), stop.signal);
  const some = failing(9);
  const storing = again('storing', some.work);
  setTimeout(() => stop.abort(new Error('the process stops')), 600);
  await expect(storing).rejects.toThrow(/abort|the process stops/);
  expect(some.tries).toBe(2);
  await expect(again('storing', some.work)).rejects.toThrow('the process stops');
});
