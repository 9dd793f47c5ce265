// The alerts, critical (now) or warning (until the morning): the source of the table in docs/monitoring.md and
// deploy/prometheus/rules.yaml.

export interface Alert {
  title: string;
  /** A function makes one alert for each service. */
  expression: string | ((service: string) => string);
  for: string;
  /** `critical`: integrators notice the fault now or soon. `warning`: integrators do not notice it yet. */
  severity: 'critical' | 'warning';
  /** The first step of an operator. */
  advice: string;
}

const atGateway = 'service="gateway",subject!="GET /readyz"';
/** Compares each installation by itself: a gain in one must not hide a loss in another. */
const sum = (vector: string): string => `sum by (namespace) (${vector})`;
const p = (quantile: number, metric: string, window = '5m'): string =>
  `histogram_quantile(${quantile}, sum by (namespace, le) (rate(${metric}[${window}])))`;
/** A gauge that cannot be read is NaN, which is neither above nor below a limit, and differs from itself. */
const aboveOrUnreadable = (vector: string, limit: number): string =>
  `${vector} > ${limit} or ${vector} != ${vector}`;

const belowOrUnreadable = (vector: string, limit: number): string =>
  `${vector} < ${limit} or ${vector} != ${vector}`;

const replicas = 'count by (namespace, service) (sync_build_info)';

export const alerts: readonly Alert[] = [
  {
    title: 'A service is down',
    expression: (service) =>
      `count by (namespace) (count_over_time(sync_build_info[1d])) unless count by (namespace) (sync_build_info{service="${service}"}) or count by (namespace) (absent(sync_build_info{service="${service}"}))`,
    for: '2m',
    severity: 'critical',
    advice: 'See why its replicas do not start or are not scraped: their stderr names a wrong setting.',
  },
  {
    title: 'A replica is missing',
    expression: `${replicas} < quantile_over_time(0.5, (${replicas})[1h:1m])`,
    for: '5m',
    severity: 'warning',
    advice: 'Fewer replicas run than half an hour ago: see why one ended, unless you stopped it.',
  },
  {
    title: 'A replica does not serve',
    expression: 'min by (namespace, service, instance) (sync_served) < 1',
    for: '2m',
    severity: 'critical',
    advice:
      'Its start waits: GET /ready on the port of its metrics says for what, its log why. A rollout stops there.',
  },
  {
    title: 'An engine is away',
    expression:
      'min by (namespace, service, engine) (sync_engine_up) < 1 or ' +
      `${replicas} unless count by (namespace, service) (sync_engine_up)`,
    for: '1m',
    severity: 'critical',
    advice:
      'The label engine names it: mongodb or nats (away, or it refuses the login), issuer (of tokens); the log of the service has the reason.',
  },
  {
    title: 'A clock is off',
    expression: 'abs(sync_clock_seconds - timestamp(sync_clock_seconds)) > 5',
    for: '1m',
    severity: 'critical',
    advice:
      'Set NTP right on the machine of this instance (of Prometheus, if all are named): beyond 15 s replicas take over pushes that are still written.',
  },
  {
    title: 'Not ready',
    expression: `${sum('increase(sync_requests_total{subject="GET /readyz",outcome!="ok"}[5m])')} > 5`,
    for: '1m',
    severity: 'critical',
    advice: 'Call GET /readyz of the gateway: the answer names each service and engine that does not answer.',
  },
  {
    title: 'Requests fail',
    expression: `${sum(`rate(sync_request_errors_total{${atGateway}}[5m])`)} / ${sum(`rate(sync_requests_total{${atGateway}}[5m])`)} > 0.02`,
    for: '5m',
    severity: 'critical',
    advice:
      'The outcome says why: unavailable is an engine or a service that is away or busy, timeout one that does not answer.',
  },
  {
    title: 'Callers are refused',
    expression:
      `${sum('rate(sync_requests_total{service="gateway",outcome="unauthorized"}[2m])')} / ${sum(`rate(sync_requests_total{${atGateway}}[2m])`)} > 0.5 and ` +
      `${sum('increase(sync_requests_total{service="gateway",outcome="unauthorized"}[5m])')} > 20`,
    for: '1m',
    severity: 'warning',
    advice:
      'More than half of the requests are 401: see AUTH_ISSUER, AUTH_AUDIENCE and AUTH_JWT_SECRET of each gateway, and refusal in its log lines.',
  },
  {
    title: 'A fault of ours',
    expression: 'increase(sync_requests_total{outcome="internal"}[10m]) > 0',
    for: '0m',
    severity: 'warning',
    advice: 'Search the logs for "request failed unexpectedly": err has the stack.',
  },
  {
    title: 'Pushes are slow',
    expression: `${p(0.99, 'sync_request_seconds_bucket{subject=~"svc.+push"}')} > 5`,
    for: '10m',
    severity: 'warning',
    advice: 'See whether pushes wait for their turn (more replicas) or MongoDB is slow.',
  },
  {
    title: 'A push is overdue',
    expression: aboveOrUnreadable('max by (namespace, kind) (sync_overdue)', 0),
    for: '1m',
    severity: 'warning',
    advice:
      'ops integrations --problems names the integrations: tell them that their job stopped. If many are overdue, see the proxy before the gateway.',
  },
  {
    title: 'Events do not go out',
    expression: aboveOrUnreadable('max by (namespace, service) (sync_unannounced_seconds)', 60),
    for: '1m',
    severity: 'critical',
    advice:
      'The logs of catalog and batches say why NATS takes no events, or MongoDB refuses: see the disk of NATS and its /healthz, and the indexes of MongoDB (a restart makes them).',
  },
  {
    title: 'Deliveries lag',
    expression: `${p(0.95, 'webhook_read_lag_seconds_bucket')} > 10 or ${sum('webhook_partitions_owned')} < 32`,
    for: '10m',
    severity: 'warning',
    advice: 'Add replicas of webhooks, or see MongoDB and NATS; the logs say why a partition has no owner.',
  },
  {
    title: 'Deliveries are lost',
    expression: `${sum('increase(webhook_lost_total[1h])')} > 0`,
    for: '0m',
    severity: 'critical',
    advice:
      'The log dropped undelivered events: error lines name the endpoints, and their callers read the listings.',
  },
  {
    title: 'NATS is an older copy',
    expression: 'max by (namespace) (webhook_log_restored) > 0',
    for: '0m',
    severity: 'critical',
    advice:
      'Events since the copy are lost: error lines of webhooks name their sequences. Integrators poll with `since`.',
  },
  {
    title: 'Outbound HTTP fails',
    expression:
      `${sum('rate(webhook_attempts_total{outcome!="succeeded"}[10m])')} / ${sum('rate(webhook_attempts_total[10m])')} > 0.5 or ` +
      `${sum('increase(webhook_disabled_total{reason="failures"}[1h])')} > 10`,
    for: '10m',
    severity: 'critical',
    advice:
      'See DNS, the firewall and the egress proxy; integrators replay the events that disabled endpoints missed.',
  },
  {
    title: 'A stream is in danger',
    expression:
      'min by (namespace, stream) (sync_stream_has_leader) < 1 or min by (namespace, stream) (sync_stream_replicas_current - sync_stream_replicas) < 0',
    for: '1m',
    severity: 'critical',
    advice: 'Bring nats-servers back: of those that have a copy, more than half must be up.',
  },
  {
    title: 'A stream fills',
    expression: belowOrUnreadable('min by (namespace, stream) (sync_stream_full_seconds)', 2 * 24 * 3_600),
    for: '1m',
    severity: 'warning',
    advice:
      'At the rate of the last day the stream is full within two days, and takes no events then: `ops streams` says by which limit. Raise that limit, or lower EVENTS_KEEP_DAYS. Without a value: NATS does not say.',
  },
  {
    title: 'A stream was created again',
    expression:
      'max by (namespace, stream) (sync_stream_made_seconds) > max by (namespace, stream) (sync_stream_made_seconds offset 1h)',
    for: '0m',
    severity: 'critical',
    advice: 'Its messages are lost: "Backup and restore" of docs/operating.md says what to do.',
  },
  {
    title: 'A setting is forgotten',
    expression: 'max by (namespace, service, instance) (sync_stream_differs) > 0',
    for: '1m',
    severity: 'warning',
    advice: 'Give every replica the same settings: the notes of GET /readyz name them.',
  },
  {
    title: 'A process is blocked',
    expression: 'max by (namespace, service, instance) (nodejs_eventloop_lag_p99_seconds) > 0.5',
    for: '5m',
    severity: 'warning',
    advice: 'Requests to this replica wait: see its processor time and its limits.',
  },
  {
    title: 'Partitions change hands',
    expression: 'max by (namespace, service, instance) (webhook_silence_seconds) > 2.5',
    for: '1m',
    severity: 'warning',
    advice:
      'Other replicas took partitions of this living replica, as it was silent: give webhooks more processors, or see its way to NATS.',
  },
  {
    title: 'A rollout does not end',
    expression:
      'count by (namespace, service) (count by (namespace, service, version, revision) (sync_build_info)) > 1',
    for: '30m',
    severity: 'warning',
    advice: 'Replicas of two builds run side by side: see why the new ones do not become ready.',
  },
];
