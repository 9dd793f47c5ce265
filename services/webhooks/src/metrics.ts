// The metrics of webhooks. No label names an endpoint or an integration: Prometheus could not hold so many series.
import { gaugesOf } from '@integration-sync/runtime/metrics';
import { Counter, Histogram, type Registry } from 'prom-client';
import type { Verdict } from './sending/attempt-outcome.ts';

export type WebhookMetrics = ReturnType<typeof openMetrics>;

const lagBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

export function openMetrics(registry: Registry) {
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
    help: 'Time from an event to its delivery, including failed attempts and waits.',
    buckets: [...lagBuckets, 3_600, 86_400],
    registers,
  });
  const lag = new Histogram({
    name: 'webhook_read_lag_seconds',
    help: 'Time from an event batch being stored to its being read by the replica that delivers it.',
    buckets: lagBuckets,
    registers,
  });
  const events = new Counter({ name: 'webhook_events_total', help: 'Events read from the log.', registers });
  const disabled = new Counter({
    name: 'webhook_disabled_total',
    help: 'Endpoints disabled, by reason.',
    labelNames: ['reason'],
    registers,
  });
  const lost = new Counter({
    name: 'webhook_lost_total',
    help: 'Endpoints that were so far behind that the log dropped events before they had them.',
    registers,
  });
  const lostPartitions = new Counter({
    name: 'webhook_partitions_lost_total',
    help: 'Partitions that other replicas have claimed while this replica lived.',
    registers,
  });
  // The counters begin at 0, because Prometheus sees no rise in a counter that appears with its first increment.
  for (const reason of ['failures', 'gone', 'manual']) disabled.inc({ reason }, 0);
  for (const outcome of ['succeeded', 'failed', 'gone']) attempts.inc({ outcome }, 0);

  return {
    attempt(verdict: Verdict, durationMs: number): void {
      attempts.inc({ outcome: verdict });
      seconds.observe(durationMs / 1000);
    },
    delivered: (ageSeconds: number): void => delivered.observe(ageSeconds),
    /** Counts event batches that were read together. `lagSeconds` is how long the first batch was in the log. */
    read(batches: readonly { count: number }[], lagSeconds: number): void {
      events.inc(batches.reduce((sum, { count }) => sum + count, 0));
      lag.observe(lagSeconds);
    },
    disabledBy: (reason: string): void => disabled.inc({ reason }),
    lost: (): void => lost.inc(),
    lostToOthers: (partitions: number): void => lostPartitions.inc(partitions),
  };
}

interface Gauged {
  scheduler: { readonly inFlight: number; readonly waiting: number };
  progress: { readonly behind: number; readonly behindForMs: number };
  integrations: { readonly endpoints: number };
  owned: { readonly size: number };
  replicas: { readonly silenceMs: number };
  endpoints: { countDisabled: () => Promise<number> };
  stream: { readonly restores: { readonly reported: number } };
}

export function openGauges(
  registry: Registry,
  { scheduler, progress, integrations, owned, replicas, endpoints, stream }: Gauged,
): void {
  const gauge = gaugesOf(registry);
  gauge('webhook_in_flight', 'Delivery attempts in flight.', () => scheduler.inFlight);
  gauge(
    'webhook_waiting',
    'Endpoints that wait for their turn to begin a delivery.',
    () => scheduler.waiting,
  );
  gauge(
    'webhook_behind',
    'Endpoints that are behind, of those that this replica delivers to.',
    () => progress.behind,
  );
  gauge(
    'webhook_behind_seconds',
    'How long the endpoint that is behind longest has been behind.',
    () => progress.behindForMs / 1000,
  );
  gauge(
    'webhook_endpoints_active',
    'Endpoints that this replica has in memory.',
    () => integrations.endpoints,
  );
  gauge('webhook_endpoints_disabled', 'Disabled endpoints, over all replicas.', endpoints.countDisabled);
  gauge(
    'webhook_log_restored',
    'Restores of EVENT_BATCHES from an older copy that were found within the last hour.',
    () => stream.restores.reported,
  );
  gauge('webhook_partitions_owned', 'Partitions of the log that this replica delivers.', () => owned.size);
  gauge(
    'webhook_silence_seconds',
    'After which silence other replicas claim the partitions of this replica.',
    () => replicas.silenceMs / 1000,
  );
}
