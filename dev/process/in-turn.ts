// Starts that run together, and stops in an order.
import { setTimeout as wait } from 'node:timers/promises';

/** Begins each stop when the stop before is done, or after `headStartMs`, so that a slow stop does not delay all later ones. */
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

/** Runs all starts concurrently. The first failure aborts the others, and is thrown once all starts have ended. */
export async function startTogether<T>(
  outer: readonly AbortSignal[],
  begin: (signal: AbortSignal) => readonly Promise<T>[],
): Promise<T[]> {
  const failed = new AbortController();
  const starts = begin(AbortSignal.any([...outer, failed.signal]));
  try {
    return await Promise.all(starts);
  } catch (error) {
    failed.abort(error);
    await Promise.allSettled(starts);
    throw error;
  }
}
