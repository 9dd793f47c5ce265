// Waiting for a value, with a bound and without guessing how long it takes.
import { awake } from './awake.ts';

/**
 * For a wait without a limit of its own: the more files run side by side, the longer a process waits for its
 * turn.
 */
export const patienceMs = 10_000;

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
  const endsAt = now() + forMs;
  for (;;) {
    const value = await reads();
    if (holds(value)) return value;
    if (now() > endsAt) throw new Error(`still ${JSON.stringify(value)} after ${forMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
