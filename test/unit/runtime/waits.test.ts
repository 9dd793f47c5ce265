// How a replica lets requests wait for something that may not come.
import type { Msg } from '@nats-io/transport-node';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openWaits } from '../../../shared/runtime/src/bus/waits.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Of a caller that is told nothing: it is none of ours. */
const requestOf = (): Msg => ({ headers: undefined }) as unknown as Msg;

/** When each of these waits is over, from now on. */
async function endsOf(begunAtMs: readonly number[], forMs: number): Promise<number[]> {
  const waits = openWaits(() => undefined);
  const startedAt = performance.now();
  return Promise.all(
    begunAtMs.map(async (ms) => {
      await new Promise((resolve) => setTimeout(resolve, ms));
      const wait = waits.begin(requestOf(), forMs);
      do await wait.woken();
      while (!wait.isOver);
      return performance.now() - startedAt;
    }),
  );
}

it('waits that end within the same half second end together, and no wait ends early', async () => {
  const begunAtMs = [0, 40, 120, 250, 410, 499, 730];
  const ending = endsOf(begunAtMs, 2_000);
  await vi.advanceTimersByTimeAsync(4_000);
  const ends = await ending;
  for (const [index, end] of ends.entries()) {
    const lastedMs = end - (begunAtMs[index] ?? 0);
    // A timer of Node is up to a millisecond early.
    expect(lastedMs).toBeGreaterThanOrEqual(1_999);
    expect(lastedMs).toBeLessThanOrEqual(2_501);
  }
  expect(new Set(ends.map(Math.round)).size).toBeLessThanOrEqual(3);
});

it('waits of all processes end at half seconds of the clock', async () => {
  await vi.advanceTimersByTimeAsync(123);
  const ending = endsOf([0], 1_000);
  await vi.advanceTimersByTimeAsync(2_000);
  const clockMs = performance.timeOrigin + performance.now() - 2_000 + ((await ending)[0] ?? 0);
  expect(Math.abs(clockMs - Math.round(clockMs / 500) * 500)).toBeLessThanOrEqual(2);
});
