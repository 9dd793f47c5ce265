// The metrics of webhooks. Labels never name an endpoint or an integration: there are too many.
import { openGauge } from '@integration-sync/runtime/metrics';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Verdict } from './sending/outcome.ts';

export interface Gauges {
  inFlight: () => number;
  waiting: () => number;
  lanes: () => number;
  backlogs: () => number;
  owners: () => number;
  disabled: () => Promise<number>;
  held: () => Promise<number>;
  partitions: () => number;
  partitionsRead: () => number;
  partitionsWaiting: () => Promise<readonly PartitionWaiting[]>;
}

/** Messages of one partition that no replica has taken yet. */
export interface PartitionWaiting {
  stream: string;
  partition: number;
  messages: number;
}

export interface WebhookMetrics {
  attempt(verdict: Verdict, durationMs: number): void;
  /** From the event to its delivery, whatever came in between. */
  delivered(seconds: number): void;
  /** From the moment a parcel is stored until a replica takes it. */
  deliveryLag(seconds: number): void;
  /** From the moment the event is stored until its deliveries are. */
  fanoutLag(seconds: number): void;
  fannedOut(events: number, deliveries: number): void;
  setAside(count: number): void;
  disabledBy(reason: string): void;
}

const lagBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

export function openMetrics(registry: Registry, gauges: Gauges): WebhookMetrics {
  const registers = [registry];
  const attempts = new Counter({
    name: 'webhook_attempts_total',
    help: 'Delivery attempts, by how they ended.',
    labelNames: ['outcome'],
    registers,
  });
  const seconds = new Histogram({
    name: 'webhook_attempt_seconds',
    help: 'How long delivery attempts took.',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  const delivered = new Histogram({
    name: 'webhook_delivered_seconds',
    help: 'Time from an event to its being delivered, attempts that failed and waits included.',
    buckets: [...lagBuckets, 3_600, 86_400],
    registers,
  });
  const deliveryLag = new Histogram({
    name: 'webhook_delivery_lag_seconds',
    help: 'Time from a parcel of deliveries being stored to its being taken by a replica.',
    buckets: lagBuckets,
    registers,
  });
  const fanoutLag = new Histogram({
    name: 'webhook_fanout_lag_seconds',
    help: 'Time from an event being stored to its deliveries being queued.',
    buckets: lagBuckets,
    registers,
  });
  const counter = (name: string, help: string) => new Counter({ name, help, registers });
  const events = counter('webhook_events_total', 'Events fanned out.');
  const deliveries = counter('webhook_deliveries_total', 'Deliveries queued.');
  const setAside = counter('webhook_set_aside_total', 'Deliveries set aside behind a gate or a full lane.');
  const disabled = new Counter({
    name: 'webhook_disabled_total',
    help: 'Endpoints disabled, by reason.',
    labelNames: ['reason'],
    registers,
  });
  // Prometheus sees a rise only from what it knew before.
  for (const reason of ['failures', 'gone', 'manual']) disabled.inc({ reason }, 0);
  openGauges(registry, gauges);

  return {
    attempt(verdict, durationMs) {
      attempts.inc({ outcome: verdict });
      seconds.observe(durationMs / 1000);
    },
    delivered: (age) => delivered.observe(age),
    deliveryLag: (lag) => deliveryLag.observe(lag),
    fanoutLag: (lag) => fanoutLag.observe(lag),
    fannedOut(eventCount, deliveryCount) {
      events.inc(eventCount);
      deliveries.inc(deliveryCount);
    },
    setAside: (count) => setAside.inc(count),
    disabledBy: (reason) => disabled.inc({ reason }),
  };
}

function openGauges(registry: Registry, gauges: Gauges): void {
  const gauge = (name: string, help: string, read: () => number | Promise<number>): void =>
    openGauge(registry, { name, help }, read);
  gauge('webhook_in_flight', 'Delivery attempts in flight.', gauges.inFlight);
  gauge('webhook_waiting', 'Deliveries waiting in memory for their turn.', gauges.waiting);
  gauge('webhook_lanes', 'Endpoints with something in flight or waiting.', gauges.lanes);
  gauge('webhook_backlogs', 'Integrations whose backlog this replica reads.', gauges.backlogs);
  gauge('webhook_kept', 'Endpoints whose held deliveries this replica looks after.', gauges.owners);
  gauge('webhook_held', 'Deliveries that are set aside, over all replicas.', gauges.held);
  gauge('webhook_endpoints_disabled', 'Disabled endpoints, over all replicas.', gauges.disabled);
  gauge('webhook_partitions', 'Partitions that are in force.', gauges.partitions);
  gauge('webhook_partitions_read', 'Partitions that this replica reads.', gauges.partitionsRead);
  const waiting = new Gauge({
    name: 'webhook_partition_waiting',
    help: 'Messages that no replica has taken yet, of each partition that this replica reads.',
    labelNames: ['stream', 'partition'],
    registers: [registry],
    async collect() {
      const all = await gauges.partitionsWaiting().catch(() => []);
      // Another replica says it of those that this one no longer reads.
      waiting.reset();
      for (const { stream, partition, messages } of all) waiting.set({ stream, partition }, messages);
    },
  });
}
