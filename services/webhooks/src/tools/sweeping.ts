// Looks regularly after what dead replicas left, one sweep at a time.
import type { Log } from '@integration-sync/runtime/log';

const sweepMs = 500;

export function startSweeping(sweeps: readonly (() => Promise<void>)[], log: Log): AsyncDisposable {
  let sweepOfAll = Promise.resolve();
  let busy = false;
  const sweep = async (): Promise<void> => {
    try {
      for (const one of sweeps) await one();
    } catch (error) {
      log.debug({ err: error }, 'sweeping failed, trying again');
    }
    busy = false;
  };
  const timer = setInterval(() => {
    if (busy) return;
    busy = true;
    sweepOfAll = sweep();
  }, sweepMs);
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await sweepOfAll;
    },
  };
}
