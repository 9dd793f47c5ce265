// Waits by polling. A number of polls bounds a wait, and not a clock, because a slow machine slows polls as well.
import { setTimeout as wait } from 'node:timers/promises';

export interface Looks {
  looksMax: number;
  everyMs?: number;
  /** A signal whose abort ends the wait early. */
  signal?: AbortSignal;
}

/** Polls until `isSo` returns true; resolves with false if it never does. A failed poll does not end the wait. */
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
