// Waits by looking. A wait is bound by how often it looks, not by a clock: each look asks what a slow machine slows as well.
import { setTimeout as wait } from 'node:timers/promises';

export interface Looks {
  looksMax: number;
  everyMs?: number;
  /** Ends the wait early. */
  signal?: AbortSignal;
}

/** Looks until it is so; resolves with false if it does not become so. Where a look fails, the next one asks again. */
export async function until(
  isSo: () => Promise<boolean>,
  { looksMax, everyMs = 300, signal }: Looks,
): Promise<boolean> {
  for (let looks = 0; looks < looksMax; looks += 1) {
    if (signal?.aborted === true) return false;
    if (await isSo().catch(() => false)) return true;
    await wait(everyMs);
  }
  return false;
}
