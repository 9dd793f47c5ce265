// Whether the whole stack serves: the gateway asks every service, and each service its engines.
import { setTimeout as wait } from 'node:timers/promises';
import { messageOf } from '../process/words.ts';

export type Readiness = { ready: true } | { ready: false; why: string };

export async function askReadiness(gateway: string): Promise<Readiness> {
  try {
    const answer = await fetch(new URL('/readyz', gateway), { signal: AbortSignal.timeout(5_000) });
    const body = await answer.text();
    if (answer.status === 200) return { ready: true };
    const [, why = `${answer.status} ${body.slice(0, 300)}`] = /"detail":"([^"]+)"/.exec(body) ?? [];
    return { ready: false, why };
  } catch (error) {
    // The message `fetch failed` says nothing, so its cause is shown.
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    return { ready: false, why: `the gateway does not answer (${messageOf(cause)})` };
  }
}

export interface PatienceOptions {
  withinMs: number;
  signal?: AbortSignal | undefined;
  onWait?: (why: string) => void;
}

/** How long to pause between two checks: longer than the gateway repeats a cached answer of /readyz. */
const repeatedMs = 1_100;

/** Resolves once the stack has become ready, or has been ready since the call. */
export async function waitUntilReady(
  gateway: string,
  { withinMs, signal, onWait }: PatienceOptions,
): Promise<void> {
  const startedAt = performance.now();
  let trustedFrom = startedAt + repeatedMs;
  for (;;) {
    signal?.throwIfAborted();
    const askedAt = performance.now();
    const state = await askReadiness(gateway);
    if (state.ready && askedAt >= trustedFrom) return;
    if (!state.ready) {
      // A ready answer after an unready answer is newer than the call, so it is trusted immediately.
      trustedFrom = 0;
      if (performance.now() > startedAt + withinMs)
        throw new Error(`the services were not ready within ${withinMs / 1_000} s: ${state.why}`);
      onWait?.(state.why);
    }
    await wait(100, undefined, { signal });
  }
}
