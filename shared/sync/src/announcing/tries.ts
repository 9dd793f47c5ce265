// Tries again for some seconds what NATS refuses, because a cluster that is electing a leader takes nothing.
import { setTimeout as wait } from 'node:timers/promises';
import { Failure } from '@integration-sync/contracts';
import type { Log } from '@integration-sync/runtime/log';
import { retry } from '@integration-sync/runtime/retry';
import type { Background } from './background.ts';

/** How long after its push was answered a first or further try begins. */
const triesForMs = 10_000;
const againMs = 250;
/** From a refusal on: longer than the tries of what was refused, so that the sweepers are awake when these are over. */
const hinderedMs = 15_000;

/** When the tries of a push that is answered now are over, by `performance.now()`. */
export const triesEnd = (): number => performance.now() + triesForMs;

export interface Tries {
  /** Undefined where it was refused to the end. */
  patiently<T>(
    of: { syncId: string; untilMs: number },
    work: () => Promise<T>,
  ): Promise<{ result: T } | undefined>;
  /** Whether something was refused lately. */
  readonly areHindered: boolean;
}

export function openTries(log: Log, background: Background): Tries {
  let refusedAtMs = -Infinity;
  return {
    async patiently({ syncId, untilMs }, work) {
      try {
        const result = await retry(work, {
          mayRetry(error) {
            refusedAtMs = performance.now();
            if (background.isClosing || !mayTryAgain(error, untilMs)) return false;
            log.debug({ err: error, syncId }, 'not announced yet, trying again');
            return true;
          },
          pause: () => Promise.race([wait(againMs, undefined, { ref: false }), background.closing]),
        });
        return { result };
      } catch (error) {
        log.warn({ err: error, syncId }, 'announcing is left to the sweepers');
        return undefined;
      }
    },
    get areHindered() {
      return performance.now() - refusedAtMs < hinderedMs;
    },
  };
}

const mayTryAgain = (error: unknown, untilMs: number): boolean =>
  error instanceof Failure && error.code === 'unavailable' && performance.now() + againMs < untilMs;
