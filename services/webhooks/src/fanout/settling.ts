// How a bundle ends here: settled when its deliveries are stored, or given back to be fanned out once more.
import type { Log } from '@integration-sync/runtime/log';
import type { WebhookMetrics } from '../metrics.ts';
import { countEvents, type Matched, type Taken } from './bundles.ts';

export interface Settling {
  settle: (matched: readonly Matched[]) => void;
  giveBack: (bundles: readonly Taken[], error: unknown) => void;
}

export interface SettlingOptions {
  metrics: Pick<WebhookMetrics, 'fanoutLag' | 'fannedOut'>;
  log: Log;
}

const retryMs = 1_000;

export function openSettling({ metrics, log }: SettlingOptions): Settling {
  return {
    settle(matched) {
      const bundles = matched.flatMap((one) => one.bundles);
      const [first] = bundles;
      if (first === undefined) return;
      for (const { lease, span } of bundles) {
        lease.ack();
        span?.end();
      }
      const deliveries = matched.reduce((sum, one) => sum + one.deliveries, 0);
      metrics.fannedOut(countEvents(bundles), deliveries);
      metrics.fanoutLag((Date.now() - first.lease.message.storedAt.getTime()) / 1000);
    },
    giveBack(bundles, error) {
      log.warn({ err: error, events: countEvents(bundles) }, 'events could not be fanned out, trying again');
      for (const { lease, span } of bundles) {
        lease.giveBack(retryMs);
        span?.end(error);
      }
    },
  };
}
