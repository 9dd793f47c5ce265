// Stops things in an order, and starts each stop after a bounded wait, so that a slow one does not delay all after it.
import { setTimeout as wait } from 'node:timers/promises';

/** Begins each stop when the one before is done, or after `headStartMs`; resolves once all are done. */
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
