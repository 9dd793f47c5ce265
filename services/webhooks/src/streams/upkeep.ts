// Sees to it that streams and consumers are there, for as long as the process runs: an operator may have deleted one,
// or nats-server have lost it, and not every one of them has a reader that would notice.
import type { Log } from '@integration-sync/runtime/log';

const everyMs = 10_000;

export function keepUp(ensure: () => Promise<void>, log: Log): Disposable {
  let busy = false;
  const look = async (): Promise<void> => {
    if (busy) return;
    busy = true;
    await ensure().catch((error: unknown) => {
      log.debug({ err: error }, 'streams could not be looked after, trying again');
    });
    busy = false;
  };
  const timer = setInterval(() => void look(), everyMs);
  return {
    [Symbol.dispose]() {
      clearInterval(timer);
    },
  };
}
