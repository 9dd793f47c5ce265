// Counts the wrong secrets of each client within a minute. The token endpoint checks a secret before it counts, so that a right
// secret is never refused. The number of clients bounds the memory: all unknown ids share one count.
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
