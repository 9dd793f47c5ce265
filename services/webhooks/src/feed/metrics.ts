// The metrics of the feed.
import { openGauge } from '@integration-sync/runtime/metrics';
import { Counter, type Registry } from 'prom-client';

export interface FeedMetrics {
  shown(events: number): void;
  lostWake(): void;
}

export function openFeedMetrics(registry: Registry, waiting: () => number): FeedMetrics {
  const registers = [registry];
  const shown = new Counter({
    name: 'webhook_feed_events_total',
    help: 'Events that pages of the feed have shown.',
    registers,
  });
  const lost = new Counter({
    name: 'webhook_feed_lost_wakes_total',
    help: 'Event batches of which a waiting caller heard by the check of each second, as their announcement was lost.',
    registers,
  });
  openGauge(
    registry,
    { name: 'webhook_feed_waiting', help: 'Callers that wait at this replica for events.' },
    waiting,
  );
  return {
    shown: (events) => shown.inc(events),
    lostWake: () => lost.inc(),
  };
}
