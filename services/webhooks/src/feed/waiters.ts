// How many callers wait for events at this replica: bounded, in all and of each integration.
import { Failure, limits } from '@integration-sync/contracts';

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
  const byIntegration = new Map<string, number>();
  let count = 0;
  return {
    get count() {
      return count;
    },
    enter(integration) {
      const own = byIntegration.get(integration) ?? 0;
      if (count >= max || own >= perIntegrationMax) {
        const who = own >= perIntegrationMax ? `${own} callers of your integration` : 'Too many callers';
        throw new Failure('unavailable', `${who} wait for events here already; ask without wait, or later.`, {
          retryAfterSeconds,
        });
      }
      count += 1;
      byIntegration.set(integration, own + 1);
      return {
        [Symbol.dispose]() {
          count -= 1;
          const left = (byIntegration.get(integration) ?? 1) - 1;
          if (left > 0) byIntegration.set(integration, left);
          else byIntegration.delete(integration);
        },
      };
    },
  };
}
