// Waiting for a value, with a bound and without guessing how long it takes.
import { awake } from './awake.ts';

/** The default bound of a wait: the more test files run side by side, the longer a process waits for its turn. */
export const patienceMs = 10_000;

/** The pause between two reads, a tenth of the wait so far within these bounds: each read costs the engines work. */
const stepsMs = { least: 20, most: 250 };

/**
 * Reads until `holds` accepts the value; throws with the last value after `limitMs` by the clock, or after the default
 * bound by `awake()`.
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
    // The last read is at the end of the wait.
    const waitMs = Math.min(stepMs, Math.max(forMs - pastMs, 0) + 1);
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}
