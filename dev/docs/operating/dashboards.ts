// The content of the dashboards: a row for each question, and in it a panel for each figure. grafana.ts makes the files.

export type Unit = 'reqps' | 'ops' | 's' | 'bytes' | 'short' | 'percentunit' | 'bool_yes_no';

export interface Query {
  expression: string;
  /** The name of a line, in Grafana's form: `{{service}}`. */
  legend: string;
}

export interface Panel {
  title: string;
  unit: Unit;
  queries: readonly Query[];
  /** A table of present values, such as the replicas of each build. */
  table?: true;
}

export interface Dashboard {
  /** The id of the dashboard, and the name of its file. */
  uid: string;
  title: string;
  rows: readonly { title: string; panels: readonly Panel[] }[];
}

const rate = (metric: string): string => `rate(${metric}[$__rate_interval])`;

/** Queries for p50, p95 and p99 of a histogram, over all replicas. */
const quantiles = (bucket: string, by = ''): Query[] =>
  [0.5, 0.95, 0.99].map((quantile) => ({
    expression: `histogram_quantile(${quantile}, sum by (le${by === '' ? '' : `, ${by}`}) (${rate(bucket)}))`,
    legend: `${by === '' ? '' : `{{${by}}} `}p${quantile * 100}`,
  }));

const one = (title: string, unit: Unit, expression: string, legend: string): Panel => ({
  title,
  unit,
  queries: [{ expression, legend }],
});

const several = (title: string, unit: Unit, ...queries: [expression: string, legend: string][]): Panel => ({
  title,
  unit,
  queries: queries.map(([expression, legend]) => ({ expression, legend })),
});

const noProbe = 'service="gateway",subject!~"GET /(healthz|readyz)"';
/** Left out: callers of the feed wait for up to 25 s by their own wish. */
const noWait = 'service="gateway",subject!~"GET /(healthz|readyz|api/v1/integration/events)"';

const overview: Dashboard = {
  uid: 'integration-sync-overview',
  title: 'Integration Sync: overview',
  rows: [
    {
      title: 'Requests from outside',
      panels: [
        one(
          'Requests by outcome',
          'reqps',
          `sum by (outcome) (${rate(`sync_requests_total{${noProbe}}`)})`,
          '{{outcome}}',
        ),
        one(
          'Part of the requests that fails',
          'percentunit',
          `sum(${rate(`sync_request_errors_total{${noProbe}}`)}) / sum(${rate(`sync_requests_total{${noProbe}}`)})`,
          '5xx',
        ),
        {
          title: 'Time to the answer',
          unit: 's',
          queries: quantiles(`sync_request_seconds_bucket{${noWait}}`),
        },
        one(
          'Readiness',
          'reqps',
          `sum by (outcome) (${rate('sync_requests_total{subject="GET /readyz"}')})`,
          '{{outcome}}',
        ),
        several(
          'Bodies in the gateways',
          'bytes',
          ['sum by (instance) (gateway_body_bytes)', '{{instance}} in memory'],
          ['sum by (instance) (gateway_road_bytes)', '{{instance}} on the way'],
          ['sum by (instance) (gateway_answer_bytes)', '{{instance}} of answers'],
        ),
        several(
          'Bodies and requests that wait for room',
          'short',
          ['sum by (instance) (gateway_bodies_waiting)', '{{instance}} bodies'],
          ['sum by (instance) (gateway_answers_waiting)', '{{instance}} requests'],
        ),
        one(
          'Uses of keys',
          'reqps',
          `sum by (client, secret) (${rate('sync_credential_uses_total')})`,
          '{{client}} {{secret}}',
        ),
      ],
    },
    {
      title: 'Pushes',
      panels: [
        one(
          'Items by outcome',
          'ops',
          `sum by (kind, outcome) (${rate('sync_items_total')})`,
          '{{kind}} {{outcome}}',
        ),
        {
          title: 'Time of a push in its service',
          unit: 's',
          queries: quantiles('sync_request_seconds_bucket{subject=~"svc.+push"}', 'service'),
        },
        several(
          'Pushes under way',
          'short',
          ['sum by (service) (sync_pushes_inside)', '{{service}} inside'],
          ['sum by (service) (sync_pushes_waiting)', '{{service}} waiting'],
        ),
        one('Pushes not announced yet', 'short', 'max by (service) (sync_pushes_unannounced)', '{{service}}'),
        one(
          'The oldest push not announced yet',
          's',
          'max by (service) (sync_unannounced_seconds)',
          '{{service}}',
        ),
        one(
          'Pushes finished for another replica',
          'ops',
          `sum by (service) (${rate('sync_pushes_recovered_total')})`,
          '{{service}}',
        ),
        one('Pushes that are overdue', 'short', 'max by (kind) (sync_overdue)', '{{kind}}'),
      ],
    },
    {
      title: 'Streams',
      panels: [
        several(
          'Copies',
          'short',
          ['min by (stream) (sync_stream_replicas_current)', '{{stream}} current'],
          ['max by (stream) (sync_stream_replicas)', '{{stream}} set'],
        ),
        one(
          'Time since it was made',
          's',
          'time() - max by (stream) (sync_stream_made_seconds)',
          '{{stream}}',
        ),
        one('Time until it is full', 's', 'min by (stream) (sync_stream_full_seconds)', '{{stream}}'),
        one('Has a leader', 'bool_yes_no', 'min by (stream) (sync_stream_has_leader)', '{{stream}}'),
        one(
          'Settings differ',
          'bool_yes_no',
          'max by (service, instance) (sync_stream_differs)',
          '{{service}} {{instance}}',
        ),
      ],
    },
    {
      title: 'Processes',
      panels: [
        {
          title: 'Replicas by build',
          unit: 'short',
          table: true,
          queries: [{ expression: 'count by (service, version, revision) (sync_build_info)', legend: '' }],
        },
        one('Engines', 'bool_yes_no', 'min by (service, engine) (sync_engine_up)', '{{service}} {{engine}}'),
        one(
          'Has served',
          'bool_yes_no',
          'min by (service, instance) (sync_served)',
          '{{service}} {{instance}}',
        ),
        one(
          'Clock, beside that of Prometheus',
          's',
          'max by (service, instance) (sync_clock_seconds - timestamp(sync_clock_seconds))',
          '{{service}} {{instance}}',
        ),
        one('Replicas', 'short', 'count by (service) (process_start_time_seconds)', '{{service}}'),
        one(
          'Memory',
          'bytes',
          'max by (service, instance) (process_resident_memory_bytes)',
          '{{service}} {{instance}}',
        ),
        one(
          'Processor',
          'percentunit',
          `max by (service, instance) (${rate('process_cpu_seconds_total')})`,
          '{{service}} {{instance}}',
        ),
        one(
          'Event loop, p99',
          's',
          'max by (service, instance) (nodejs_eventloop_lag_p99_seconds)',
          '{{service}} {{instance}}',
        ),
        one(
          'Garbage collection',
          'percentunit',
          `sum by (service, instance) (${rate('nodejs_gc_duration_seconds_sum')})`,
          '{{service}} {{instance}}',
        ),
        one(
          'Open files',
          'short',
          'max by (service, instance) (process_open_fds)',
          '{{service}} {{instance}}',
        ),
      ],
    },
  ],
};

const webhooks: Dashboard = {
  uid: 'integration-sync-webhooks',
  title: 'Integration Sync: webhooks',
  rows: [
    {
      title: 'What integrators get',
      panels: [
        {
          title: 'From the event to its delivery',
          unit: 's',
          queries: quantiles('webhook_delivered_seconds_bucket'),
        },
        one(
          'Attempts by outcome',
          'ops',
          `sum by (outcome) (${rate('webhook_attempts_total')})`,
          '{{outcome}}',
        ),
        { title: 'Time of an attempt', unit: 's', queries: quantiles('webhook_attempt_seconds_bucket') },
      ],
    },
    {
      title: 'The log',
      panels: [
        one('Events read', 'ops', `sum(${rate('webhook_events_total')})`, 'events'),
        {
          title: 'Until a replica reads them',
          unit: 's',
          queries: quantiles('webhook_read_lag_seconds_bucket'),
        },
        one('Partitions owned', 'short', 'sum by (instance) (webhook_partitions_owned)', '{{instance}}'),
        several(
          'Partitions lost to other replicas',
          'short',
          ['sum by (instance) (increase(webhook_partitions_lost_total[1h]))', '{{instance}}'],
          ['max by (instance) (webhook_silence_seconds)', '{{instance}}: after seconds of silence'],
        ),
        one(
          'Restored from an older copy',
          'short',
          'max by (instance) (webhook_log_restored)',
          '{{instance}}',
        ),
        one(
          'Callers that wait for events',
          'short',
          'sum by (instance) (webhook_feed_waiting)',
          '{{instance}}',
        ),
        several(
          'Events shown by the feed',
          'ops',
          [`sum(${rate('webhook_feed_events_total')})`, 'events'],
          [`sum(${rate('webhook_feed_lost_wakes_total')})`, 'lost announcements'],
        ),
      ],
    },
    {
      title: 'In the replicas',
      panels: [
        one('Attempts in flight', 'short', 'sum by (instance) (webhook_in_flight)', '{{instance}}'),
        one(
          'Endpoints that wait for their turn',
          'short',
          'sum by (instance) (webhook_waiting)',
          '{{instance}}',
        ),
        one('Endpoints in memory', 'short', 'sum by (instance) (webhook_endpoints_active)', '{{instance}}'),
      ],
    },
    {
      title: 'Failing and slow receivers',
      panels: [
        one('Endpoints that are behind', 'short', 'sum by (instance) (webhook_behind)', '{{instance}}'),
        one('Behind for', 's', 'max(webhook_behind_seconds)', 'the longest'),
        one('Disabled endpoints', 'short', 'max(webhook_endpoints_disabled)', 'disabled'),
        one(
          'Endpoints that were disabled',
          'short',
          'sum by (reason) (increase(webhook_disabled_total[1h]))',
          '{{reason}}',
        ),
        one('Endpoints that the log went past', 'short', 'sum(increase(webhook_lost_total[1h]))', 'lost'),
      ],
    },
  ],
};

export const dashboards: readonly Dashboard[] = [overview, webhooks];
