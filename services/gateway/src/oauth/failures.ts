// How often wrong secrets came for a client within a minute. The token endpoint checks the secret first, so that the right one
// is never refused for others' wrong ones. What it remembers is bounded by the clients of the file: all ids that there are
// not count together.
import type { Client } from '../clients/clients-file.ts';

const failuresMax = 30;
const windowMs = 60_000;

export function openFailures(now: () => number) {
  const windows = new WeakMap<object, { beganAtMs: number; failures: number }>();
  const unknown = {};

  /** Counts a failure; returns after how many seconds the client may try again, undefined within the limit. */
  return (client: Client | undefined): number | undefined => {
    const key = client ?? unknown;
    const nowMs = now();
    const known = windows.get(key);
    const isOver = known === undefined || nowMs < known.beganAtMs || nowMs >= known.beganAtMs + windowMs;
    const window = isOver ? { beganAtMs: nowMs, failures: 0 } : known;
    if (isOver) windows.set(key, window);
    window.failures += 1;
    if (window.failures <= failuresMax) return undefined;
    return Math.ceil((window.beganAtMs + windowMs - nowMs) / 1_000);
  };
}
