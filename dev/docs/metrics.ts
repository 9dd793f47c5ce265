// The metrics that the services serve, as docs/monitoring.md describes them. The table there and the descriptions of the dashboards
// are made from here; a system test compares this list with what a running stack serves.

export interface Metric {
  name: string;
  type: 'counter' | 'gauge' | 'histogram';
  /** Further labels: every metric has `service`. */
  labels?: readonly string[];
}

/** One row of the table: metrics that are explained together. */
export interface MetricRow {
  metrics: readonly Metric[];
  says: string;
}

const counter = (name: string, ...labels: string[]): Metric => ({ name, type: 'counter', labels });
const gauge = (name: string, ...labels: string[]): Metric => ({ name, type: 'gauge', labels });
const histogram = (name: string, ...labels: string[]): Metric => ({ name, type: 'histogram', labels });

const ofRequests: readonly MetricRow[] = [
  {
    metrics: [counter('sync_requests_total', 'subject', 'outcome')],
    says: 'Requests answered. `subject` is `POST /api/v1/integration/suppliers` at the gateway (`unknown` for no route), `svc.catalog.suppliers.push` at a service; `outcome` is `ok`, also where the caller hung up, or an [error code](api.md#errors).',
  },
  {
    metrics: [counter('sync_request_errors_total', 'subject', 'outcome')],
    says: 'Requests answered 5xx. `unavailable`: MongoDB, NATS or a service is away or busy.',
  },
  {
    metrics: [histogram('sync_request_seconds', 'subject')],
    says: 'Histogram of the time from a request to its answer.',
  },
  {
    metrics: [counter('sync_credential_uses_total', 'client', 'secret')],
    says: 'At the gateway: requests with a key, and tokens fetched with it, by [client](keys.md) and name of the secret.',
  },
  {
    metrics: [gauge('gateway_body_bytes'), gauge('gateway_road_bytes'), gauge('gateway_bodies_waiting')],
    says: 'Bytes of request bodies in memory, bytes of these on their way to services, and bodies that wait for memory.',
  },
  {
    metrics: [gauge('gateway_answer_bytes'), gauge('gateway_answers_waiting')],
    says: 'Bytes of answers that callers have not read, and requests that wait until callers have read more.',
  },
];

const ofPushes: readonly MetricRow[] = [
  {
    metrics: [counter('sync_items_total', 'kind', 'outcome')],
    says: 'Pushed items: `created`, `updated`, `unchanged`, `archived`, `erased` or `failed`.',
  },
  {
    metrics: [gauge('sync_pushes_inside'), gauge('sync_pushes_waiting')],
    says: 'Pushes that this replica works on (at most `PUSHES_AT_ONCE_MAX` + 1), and pushes that wait for their turn (`waitedMs` in the log).',
  },
  {
    metrics: [gauge('sync_pushes_unannounced'), gauge('sync_unannounced_seconds')],
    says: 'Over all replicas: pushes whose events are not on the stream yet (at most 10,000), and the age of the oldest. `NaN` while MongoDB is away.',
  },
  {
    metrics: [counter('sync_pushes_recovered_total')],
    says: 'Pushes that this replica finished for a dead or slow replica.',
  },
  {
    metrics: [gauge('sync_overdue', 'kind')],
    says: 'Over all integrations: overdue [expected pushes](integrating.md#pushes-that-do-not-come). `NaN` while MongoDB is away.',
  },
];

const ofWebhooks: readonly MetricRow[] = [
  {
    metrics: [counter('webhook_events_total'), histogram('webhook_read_lag_seconds')],
    says: 'Events read from EVENT_BATCHES, subscribed or not; histogram of the time from the storing of an event batch to its reading.',
  },
  {
    metrics: [counter('webhook_attempts_total', 'outcome'), histogram('webhook_attempt_seconds')],
    says: 'Delivery attempts (`succeeded`, `failed`, `gone`), and a histogram of their duration.',
  },
  {
    metrics: [histogram('webhook_delivered_seconds')],
    says: 'Histogram of the time from an event to its delivery, retries included: the measure for promises to integrators.',
  },
  {
    metrics: [gauge('webhook_in_flight'), gauge('webhook_waiting'), gauge('webhook_endpoints_active')],
    says: 'Attempts in flight (at most `WEBHOOK_IN_FLIGHT_MAX`), endpoints that wait for their turn, endpoints in memory of this replica.',
  },
  {
    metrics: [gauge('webhook_behind'), gauge('webhook_behind_seconds')],
    says: 'How many endpoints of this replica are behind, and the longest time that an endpoint has been behind. Lasting high values mean slow or failing receivers.',
  },
  {
    metrics: [counter('webhook_lost_total')],
    says: 'Endpoints for which EVENT_BATCHES dropped undelivered events. An error line names each endpoint: its integrator must read the [listings](integrating.md#reading-records-back).',
  },
  {
    metrics: [gauge('webhook_log_restored')],
    says: 'How often within the last hour replicas found NATS [restored from an older copy](operating.md#backup-and-restore); each replica shows the same number, so take `max`.',
  },
  {
    metrics: [gauge('webhook_partitions_owned')],
    says: 'Partitions of EVENT_BATCHES that this replica delivers: 32 over all replicas. Events of partitions without an owner wait.',
  },
  {
    metrics: [counter('webhook_partitions_lost_total'), gauge('webhook_silence_seconds')],
    says: 'Partitions that other replicas took from this living replica, and the seconds of silence after which they do: 2.5, or 20 within 10 min of such a takeover.',
  },
  {
    metrics: [counter('webhook_disabled_total', 'reason'), gauge('webhook_endpoints_disabled')],
    says: 'Webhooks disabled, by `failures`, `gone` or `manual`; how many are disabled now, over all replicas, so take `max` (`NaN` while MongoDB is away).',
  },
  {
    metrics: [
      gauge('webhook_feed_waiting'),
      counter('webhook_feed_events_total'),
      counter('webhook_feed_lost_wakes_total'),
    ],
    says: 'For `GET /events`: callers that wait at this replica (at most 1,000), events sent, and pushes that reached a waiting caller late, as NATS lost their announcement.',
  },
];

const ofStreams: readonly MetricRow[] = [
  {
    metrics: [gauge('sync_stream_replicas', 'stream'), gauge('sync_stream_replicas_current', 'stream')],
    says: 'Copies that a stream is set to have, and copies that are current; read every 5 s.',
  },
  {
    metrics: [gauge('sync_stream_has_leader', 'stream')],
    says: '0 while a stream has no leader, and so takes no message.',
  },
  {
    metrics: [gauge('sync_stream_full_seconds', 'stream')],
    says: 'In webhooks: seconds until EVENTS or EVENT_BATCHES [is full](operating.md#streams). `+Inf`: the stream does not grow, or has no limit. `NaN`: NATS does not say.',
  },
  {
    metrics: [gauge('sync_stream_made_seconds', 'stream')],
    says: 'When a stream was created; if the time rises, its earlier messages are lost.',
  },
  {
    metrics: [gauge('sync_stream_differs', 'stream')],
    says: '1 where the settings of this replica give other copies, days or bytes than the stream has.',
  },
];

const ofProcesses: readonly MetricRow[] = [
  {
    metrics: [gauge('sync_engine_up', 'engine')],
    says: 'For each engine that this replica uses: 0 while `mongodb` fails reads or writes, `nats` is not connected, or the `issuer` gives no keys.',
  },
  {
    metrics: [gauge('sync_served')],
    says: '1 once this replica has been ready, as `GET /ready` says.',
  },
  {
    metrics: [gauge('sync_clock_seconds')],
    says: 'The clock of the machine, which Prometheus compares with its own.',
  },
  {
    metrics: [gauge('sync_build_info', 'version', 'revision')],
    says: '1, with the release and the commit of this replica.',
  },
];

export const metricRows: readonly MetricRow[] = [
  ...ofRequests,
  ...ofPushes,
  ...ofWebhooks,
  ...ofStreams,
  ...ofProcesses,
];

/** The metrics of prom-client that dashboards and rules name. The table has one row for them, without their names. */
export const metricsOfNode: readonly Metric[] = [
  gauge('process_start_time_seconds'),
  gauge('process_resident_memory_bytes'),
  counter('process_cpu_seconds_total'),
  gauge('process_open_fds'),
  gauge('nodejs_eventloop_lag_p99_seconds'),
  histogram('nodejs_gc_duration_seconds', 'kind'),
];

export const rowOfNode = {
  name: '`process_*`, `nodejs_*`',
  says: 'The metrics of prom-client.',
};

/** The descriptions of the metrics that Prometheus expressions name, except for metrics of prom-client. */
export function describeExpressions(expressions: readonly string[]): string {
  const words = new Set(expressions.flatMap((expression) => expression.match(/\w+/g) ?? []));
  const isNamed = ({ metrics }: MetricRow): boolean =>
    metrics.some(({ name }) => [name, `${name}_bucket`, `${name}_sum`].some((one) => words.has(one)));
  return metricRows
    .filter(isNamed)
    .map(({ says }) => says.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1'))
    .join('\n\n');
}
