// Operations that the driver has begun and never ends.
import { openLog } from '@integration-sync/runtime/log';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startWatchdog, type Watchdog } from '../../../shared/runtime/src/store/watchdog.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = (): Promise<never> => new Promise(() => {});

function start() {
  const lost: number[] = [];
  const watchdog = startWatchdog({
    ask: () => Promise.resolve(),
    passing: () => true,
    onLost: (operations) => void lost.push(operations),
    log: openLog({ service: 'test', level: 'silent' }),
  });
  return { watchdog, lost };
}

/**
 * How long an operation takes to fail, in steps of 100 ms, while others are answered; undefined if it does
 * not.
 */
async function failsAfterMs(
  watchdog: Watchdog,
  asking: Promise<unknown>,
  withinMs: number,
): Promise<number | undefined> {
  let failed = false;
  asking.catch(() => (failed = true));
  for (let ms = 0; ms <= withinMs; ms += 100) {
    if (failed) return ms;
    await watchdog.during(() => Promise.resolve());
    await vi.advanceTimersByTimeAsync(100);
  }
  return undefined;
}

it.each([
  { name: 'an operation that was in progress when connections ended', endsMs: [0] },
  { name: 'an operation that begins right after connections ended', endsMs: [-100] },
])('the watchdog rejects $name after 1.5 s', async ({ endsMs: [endsMs = 0] }) => {
  const { watchdog, lost } = start();
  await vi.advanceTimersByTimeAsync(100);
  if (endsMs < 0) {
    watchdog.connectionsEnded();
    await vi.advanceTimersByTimeAsync(-endsMs);
  }
  const asking = watchdog.during(never);
  if (endsMs === 0) watchdog.connectionsEnded();
  const tookMs = await failsAfterMs(watchdog, asking, 3_000);
  expect(tookMs).toBeGreaterThanOrEqual(1_400);
  expect(tookMs).toBeLessThanOrEqual(1_700);
  expect(lost).toEqual([1]);
  watchdog[Symbol.dispose]();
});

it('the watchdog does not reject an operation that begins a second after connections ended', async () => {
  const { watchdog, lost } = start();
  await vi.advanceTimersByTimeAsync(100);
  watchdog.connectionsEnded();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await failsAfterMs(watchdog, watchdog.during(never), 20_000)).toBeUndefined();
  expect(lost).toEqual([]);
  watchdog[Symbol.dispose]();
});
