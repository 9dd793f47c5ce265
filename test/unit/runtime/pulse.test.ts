// Operations that the driver has begun and will never end.
import { openLog } from '@integration-sync/runtime/log';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startPulse, type Pulse } from '../../../shared/runtime/src/store/pulse.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = (): Promise<never> => new Promise(() => {});

function start() {
  const lost: number[] = [];
  const pulse = startPulse({
    ask: () => Promise.resolve(),
    passing: () => true,
    onLost: (operations) => void lost.push(operations),
    log: openLog({ service: 'test', level: 'silent' }),
  });
  return { pulse, lost };
}

/** How long it takes until it fails, in steps of 100 ms, while others are answered; undefined if it does not. */
async function failsAfterMs(
  pulse: Pulse,
  asking: Promise<unknown>,
  withinMs: number,
): Promise<number | undefined> {
  let failed = false;
  asking.catch(() => (failed = true));
  for (let ms = 0; ms <= withinMs; ms += 100) {
    if (failed) return ms;
    await pulse.during(() => Promise.resolve());
    await vi.advanceTimersByTimeAsync(100);
  }
  return undefined;
}

it.each([
  { name: 'an operation that was under way when connections ended', endsMs: [0] },
  { name: 'one that begins right after they ended', endsMs: [-100] },
])('$name is given up after a second and a half', async ({ endsMs: [endsMs = 0] }) => {
  const { pulse, lost } = start();
  await vi.advanceTimersByTimeAsync(100);
  if (endsMs < 0) {
    pulse.connectionsEnded();
    await vi.advanceTimersByTimeAsync(-endsMs);
  }
  const asking = pulse.during(never);
  if (endsMs === 0) pulse.connectionsEnded();
  const tookMs = await failsAfterMs(pulse, asking, 3_000);
  expect(tookMs).toBeGreaterThanOrEqual(1_400);
  expect(tookMs).toBeLessThanOrEqual(1_700);
  expect(lost).toEqual([1]);
  pulse[Symbol.dispose]();
});

it('one that begins a second after they ended has all the time that the driver gives', async () => {
  const { pulse, lost } = start();
  await vi.advanceTimersByTimeAsync(100);
  pulse.connectionsEnded();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await failsAfterMs(pulse, pulse.during(never), 20_000)).toBeUndefined();
  expect(lost).toEqual([]);
  pulse[Symbol.dispose]();
});
