// Makes streams and consumers again where they are gone, for as long as the process runs: an operator may delete one,
// nats-server may lose one, and not every one of them has a reader that notices.
import type { Log } from '@integration-sync/runtime/log';

const everyMs = 10_000;

/** Calls `ensure` every ten seconds, once at a time. */
export function startReconciler(ensure: () => Promise<void>, log: Log): Disposable {
  let busy = false;
  const reconcile = async (): Promise<void> => {
    if (busy) return;
    busy = true;
    await ensure().catch((error: unknown) => {
      log.debug({ err: error }, 'the replica could not make sure of its streams and tries again');
    });
    busy = false;
  };
  const timer = setInterval(() => void reconcile(), everyMs);
  return {
    [Symbol.dispose]() {
      clearInterval(timer);
    },
  };
}
