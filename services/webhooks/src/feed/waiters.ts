// How many callers wait for events at this replica: bounded, in all and of each integration.
import { Failure, limits } from '@integration-sync/contracts';
import { openSemaphore } from '@integration-sync/runtime/semaphore';

export interface Waiters {
  readonly count: number;
  /** Throws where there are too many. */
  enter(integration: string): Disposable;
}

const retryAfterSeconds = 5;

export function openWaiters(
  max: number = limits.feedWaitersMax,
  perIntegrationMax: number = limits.feedWaitersPerIntegrationMax,
): Waiters {
  const semaphore = openSemaphore({ max, perKeyMax: perIntegrationMax });
  return {
    get count() {
      return semaphore.held;
    },
    enter(integration) {
      if (!semaphore.mayTake(integration)) {
        const own = semaphore.heldBy(integration);
        const who = own >= perIntegrationMax ? `${own} callers of your integration` : 'Too many callers';
        throw new Failure('unavailable', `${who} wait for events here already; ask without wait, or later.`, {
          retryAfterSeconds,
        });
      }
      semaphore.take(integration);
      return { [Symbol.dispose]: () => semaphore.release(integration) };
    },
  };
}
