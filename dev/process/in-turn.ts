// Stops processes in an order. Each stop begins after a bounded wait, so that a slow stop does not delay all later stops.
import { setTimeout as wait } from 'node:timers/promises';

/** Begins each stop when the stop before is done, or after `headStartMs`; resolves once all stops are done. */
export async function stopInTurn(
  stops: readonly (() => Promise<unknown>)[],
  headStartMs: number,
): Promise<void> {
  const stopping: Promise<unknown>[] = [];
  for (const stop of stops) {
    const stopped = stop();
    stopping.push(stopped);
    await Promise.race([stopped, wait(headStartMs, undefined, { ref: false })]);
  }
  await Promise.all(stopping);
}
