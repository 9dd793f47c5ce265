// Waiting for a value, with a bound and without guessing how long it takes.
import { awake } from './awake.ts';

/**
 * For a wait without a limit of its own: the more files run side by side, the longer a process waits for its
 * turn.
 */
export const patienceMs = 10_000;

/** Between two looks: a tenth of the wait so far, since a look may cost the engines more than the wait is worth. */
const stepsMs = { least: 20, most: 250 };

/**
 * Waits until `reads` gives the wanted value, or says what it gave last. Patience is by `awake()`, a limit by
 * the clock.
 */
export async function eventually<T>(
  reads: () => T | Promise<T>,
  holds: (value: T) => boolean,
  limitMs?: number,
): Promise<T> {
  const now = limitMs === undefined ? awake : Date.now;
  const forMs = limitMs ?? patienceMs;
  const begunAt = now();
  for (;;) {
    const value = await reads();
    if (holds(value)) return value;
    const pastMs = now() - begunAt;
    if (pastMs > forMs) throw new Error(`still ${JSON.stringify(value)} after ${forMs} ms`);
    const stepMs = Math.min(Math.max(pastMs / 10, stepsMs.least), stepsMs.most);
    // The last look is at the end of the wait.
    const waitMs = Math.min(stepMs, Math.max(forMs - pastMs, 0) + 1);
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}
