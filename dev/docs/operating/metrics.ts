// The metrics that the services serve, as docs/operating.md describes them. The table there, the dashboards and the alerting
// rules are made from here and from the files beside it; a system test compares this list with what a running stack serves.

export interface Metric {
  name: string;
  type: 'counter' | 'gauge' | 'histogram';
  /** Beside `service`, which every metric has. */
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
    says:
      'Requests answered. `subject` is `POST /api/v1/integration/suppliers` at the gateway (`unknown` for what does not ' +
      'exist) and `svc.catalog.suppliers.push` at a service; `outcome` is `ok` or an [error code](api.md#errors). ' +
      'A caller that hung up counts as `ok`.',
  },
  {
    metrics: [counter('sync_request_errors_total', 'subject', 'outcome')],
    says: 'Those of them with 5xx. `unavailable` is an engine or service away, and a service that is busy as well.',
  },
  {
    metrics: [histogram('sync_request_seconds', 'subject')],
    says: 'Histogram of the time from a request to its answer, 5 ms to 30 s.',
  },
  {
    metrics: [counter('sync_credential_uses_total', 'client', 'secret')],
    says:
      'Of this gateway: requests with a key, and tokens fetched with it, by [client](keys.md) and by the 8 characters that name ' +
      'the secret. Of two secrets of a client, the one that still rises is in use.',
  },
  {
    metrics: [gauge('gateway_body_bytes'), gauge('gateway_road_bytes'), gauge('gateway_bodies_waiting')],
    says:
      'Of this gateway: bytes of bodies in memory, those of them that are on the way to services and not answered, and ' +
      'how many bodies wait for room.',
  },
  {
    metrics: [gauge('gateway_answer_bytes'), gauge('gateway_answers_waiting')],
    says:
      'Of this gateway: bytes of answers that callers have not read, and how many requests wait until their callers have ' +
      'read other answers.',
  },
];

const ofPushes: readonly MetricRow[] = [
  {
    metrics: [counter('sync_items_total', 'kind', 'outcome')],
    says: 'Of catalog and batches: pushed items that were `created`, `updated`, `unchanged`, `archived`, `erased` or `failed`.',
  },
  {
    metrics: [gauge('sync_pushes_inside'), gauge('sync_pushes_waiting')],
    says:
      'Of this replica: pushes that are carried out (at most one more than `PUSHES_AT_ONCE_MAX`), and that wait for their turn ' +
      '(`waitedMs` in a log line says how long one did).',
  },
  {
    metrics: [gauge('sync_pushes_unannounced'), gauge('sync_unannounced_seconds')],
    says:
      'Of catalog and batches, over all replicas: pushes whose events are not on the stream yet (those under way among ' +
      'them; 10,000 at most are counted), and how long the oldest has been so. `NaN` while MongoDB is away.',
  },
  {
    metrics: [counter('sync_pushes_recovered_total')],
    says: 'Pushes whose process died or was too slow, and that this one finished.',
  },
  {
    metrics: [gauge('sync_overdue', 'kind')],
    says:
      'Of catalog, over all replicas and integrations: [expected pushes](integrating.md#pushes-that-do-not-come) that have not come ' +
      'by their due time. `NaN` while MongoDB is away.',
  },
];

const ofWebhooks: readonly MetricRow[] = [
  {
    metrics: [counter('webhook_events_total'), histogram('webhook_read_lag_seconds')],
    says:
      'Events read from the log, also those that no endpoint subscribes to; and a histogram, by the clocks of NATS and ' +
      "ours, from an event batch's being stored to its being read by the replica that delivers it.",
  },
  {
    metrics: [counter('webhook_attempts_total', 'outcome'), histogram('webhook_attempt_seconds')],
    says: 'Attempts (`succeeded`, `failed`, `gone`), and a histogram of how long they took.',
  },
  {
    metrics: [histogram('webhook_delivered_seconds')],
    says:
      'Histogram, from an event to its being delivered, with all failed attempts and waits: what a promise to ' +
      'integrators is measured by.',
  },
  {
    metrics: [gauge('webhook_in_flight'), gauge('webhook_waiting'), gauge('webhook_endpoints_active')],
    says:
      'Of this replica: attempts in flight (at most `WEBHOOK_IN_FLIGHT_MAX`), endpoints that wait for their turn, ' +
      'endpoints in memory.',
  },
  {
    metrics: [gauge('webhook_behind'), gauge('webhook_behind_seconds')],
    says:
      'Of this replica: endpoints that are behind the log, and for how long the one has been that has been so for ' +
      'longest. High for long: receivers that fail or are slow.',
  },
  {
    metrics: [counter('webhook_lost_total')],
    says:
      'Endpoints that were so far behind that the log dropped events before they had them: it keeps 7 days. An error line names ' +
      'each; its owner reads the [listings](integrating.md#reading-records-back) instead.',
  },
  {
    metrics: [gauge('webhook_log_restored')],
    says:
      'How often NATS was [restored from an older copy](#backup-and-restore), as replicas found within the last hour: the same ' +
      'at each replica, so take `max`.',
  },
  {
    metrics: [gauge('webhook_partitions_owned')],
    says:
      'Partitions of the log that this replica delivers: 32 over all replicas. Fewer for longer than some seconds: ' +
      'nobody delivers what is in the others.',
  },
  {
    metrics: [counter('webhook_partitions_lost_total'), gauge('webhook_silence_seconds')],
    says:
      'Partitions that other replicas took from this one while it lived, and after which silence they do so: 2.5 s, and up to 20 s ' +
      'within 10 min of such a takeover.',
  },
  {
    metrics: [counter('webhook_disabled_total', 'reason'), gauge('webhook_endpoints_disabled')],
    says:
      'Webhooks disabled, by `failures`, `gone` or `manual`; how many are now, over all replicas, so take `max` ' +
      '(`NaN` while MongoDB is away).',
  },
  {
    metrics: [
      gauge('webhook_feed_waiting'),
      counter('webhook_feed_events_total'),
      counter('webhook_feed_lost_wakes_total'),
    ],
    says:
      'Of the feed (`GET /events`): callers that wait at this replica (at most 1,000), events that pages have shown, and ' +
      'pushes of which a waiting caller heard up to a second late, as their announcement was lost between two servers of NATS.',
  },
];

const ofStreams: readonly MetricRow[] = [
  {
    metrics: [gauge('sync_stream_replicas', 'stream'), gauge('sync_stream_replicas_current', 'stream')],
    says:
      'Copies that a stream is set to have, and those of them that have all of it; looked at every 5 s by each replica ' +
      'with streams.',
  },
  {
    metrics: [gauge('sync_stream_has_leader', 'stream')],
    says: '1, or 0 while NATS elects a leader for the stream or too few of its servers are up: it takes nothing then.',
  },
  {
    metrics: [gauge('sync_stream_made_seconds', 'stream')],
    says: 'When a stream was last created. A later time than before: its messages are lost.',
  },
  {
    metrics: [gauge('sync_stream_differs', 'stream')],
    says:
      "1 where this replica's settings say other copies, days or bytes than the stream has: a setting was forgotten, or " +
      'says less. The replica changed nothing.',
  },
];

const ofProcesses: readonly MetricRow[] = [
  {
    metrics: [gauge('sync_engine_up', 'engine')],
    says:
      'Of this replica, for each engine that it has asked: 1, or 0 while `mongodb` is away or refuses its login, while it has ' +
      'no connection to `nats`, and at a gateway while the `issuer` gives no keys.',
  },
  {
    metrics: [gauge('sync_served')],
    says: '1 once this replica has served, as `GET /ready` says; 0 while its start waits.',
  },
  {
    metrics: [gauge('sync_clock_seconds')],
    says: 'The clock of the machine. Prometheus compares it with its own.',
  },
  {
    metrics: [gauge('sync_build_info', 'version', 'revision')],
    says: '1, with the release and the commit that this replica runs. Two of them for long: a rollout that does not end.',
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
  says: 'The usual ones of prom-client: memory, processor time, file descriptors, event loop, garbage collection.',
};
