// The settings that several services share. The `config.ts` of a service has its own settings.
import { Type, type Static, type TObject } from 'typebox';
import { isHttpAddress } from './addresses.ts';
import { jetstreamSettings, natsSettings } from './nats.ts';

const collectorAddress = {
  check: isHttpAddress,
  expected: 'an address such as http://127.0.0.1:4318, without user and password',
};

/** The settings of traces, under the names that OpenTelemetry defines. */
export const tracingSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: Type.Optional(
    Type.String({
      description:
        'Address of a collector that takes traces by OTLP over HTTP: `/v1/traces` is added. Unset, nothing is traced.',
      ...collectorAddress,
    }),
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: Type.Optional(
    Type.String({
      description: 'The complete address to which traces are sent; wins over OTEL_EXPORTER_OTLP_ENDPOINT.',
      ...collectorAddress,
    }),
  ),
  OTEL_EXPORTER_OTLP_HEADERS: Type.Optional(
    Type.String({
      description: 'Headers of each request to the collector: `name=value`, several separated by commas.',
      secret: true,
    }),
  ),
  OTEL_EXPORTER_OTLP_PROTOCOL: Type.Enum(['http/protobuf', 'http/json'], {
    description: 'How traces are encoded.',
    default: 'http/protobuf',
  }),
  OTEL_SDK_DISABLED: Type.Boolean({
    description: 'true turns tracing off, whatever the other settings say.',
    default: false,
  }),
  OTEL_TRACES_SAMPLER: Type.Enum(
    [
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ],
    {
      description:
        'Which traces are recorded. With `parentbased_…`, a caller that sends `traceparent` decides for its trace.',
      default: 'parentbased_always_on',
    },
  ),
  OTEL_TRACES_SAMPLER_ARG: Type.Number({
    description: 'The share of traces that the samplers with `traceidratio` record.',
    default: 1,
    minimum: 0,
    maximum: 1,
  }),
};

export type TracingConfig = Static<TObject<typeof tracingSettings>>;

/** The settings of every service that uses streams. */
export const baseSettings = {
  ...natsSettings,
  ...jetstreamSettings,
  NATS_MONITOR_URL: Type.Optional(
    Type.String({
      description:
        'Address of the monitoring of nats-server. If NATS_MONITOR_URL is set, a service is not ready while nats-server acknowledges ' +
        'messages before they are on its disk, and webhooks heeds limits of nats-server to compute when streams will be full.',
      check: isHttpAddress,
      expected: 'an address such as http://127.0.0.1:8222, without user and password',
    }),
  ),
  STREAM_REPLICAS: Type.Optional(
    Type.Integer({
      description:
        'How many NATS servers keep a copy of each stream: 3 on a cluster. Unset: a new stream has 1 copy, an ' +
        'existing stream keeps its copies. Fewer copies need STREAMS_MAY_SHRINK.',
      minimum: 1,
      maximum: 5,
    }),
  ),
  EVENTS_KEEP_DAYS: Type.Optional(
    Type.Integer({
      description:
        'For how many days the streams EVENTS and EVENT_BATCHES keep an event. Unset: new streams keep an event for ' +
        '7 days, existing streams keep their limit. Fewer days need STREAMS_MAY_SHRINK. Readers, replays and the feed go back as many days, ' +
        'and each day takes disk space.',
      minimum: 1,
      maximum: 3_650,
    }),
  ),
  EVENTS_MAX_BYTES: Type.Optional(
    Type.Integer({
      description:
        'How many bytes the stream EVENTS may have; 0: no limit. Unset: a new stream has no limit, ' +
        'an existing stream keeps its limit. A lower limit needs STREAMS_MAY_SHRINK. Bytes count before compression. While EVENTS is full, the ' +
        'events of all integrations wait.',
      minimum: 0,
    }),
  ),
  STREAMS_MAY_SHRINK: Type.Boolean({
    description:
      'Whether this process may reduce the copies, days or bytes of an existing stream to what its settings say. ' +
      'Set STREAMS_MAY_SHRINK to true for one start, then remove the setting.',
    default: false,
  }),
  LOG_LEVEL: Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
    description: 'The lowest level of log lines that are written.',
    default: 'info',
  }),
  BUILD_REVISION: Type.String({
    description:
      'The commit from which this process was built. The image sets the value; metrics and `nats micro info` show it.',
    default: 'unknown',
  }),
  METRICS_HOST: Type.String({
    description: 'Address on which the Prometheus metrics are served. In a container: 0.0.0.0.',
    default: '127.0.0.1',
  }),
  METRICS_PORT: Type.Integer({
    description: 'Port of the Prometheus metrics, `GET /metrics`. 0 takes any free port.',
    default: 0,
    minimum: 0,
    maximum: 65_535,
  }),
  ...tracingSettings,
};

/** The settings of MongoDB, for services that store records. */
export const storeSettings = {
  MONGODB_URL: Type.String({
    description:
      'Address of MongoDB. Options in the address apply, except those that the service sets itself and names in the log.',
    default: 'mongodb://127.0.0.1:27017',
    pattern: '^mongodb(\\+srv)?://\\S+$',
    expected: 'an address such as mongodb://127.0.0.1:27017',
    file: true,
  }),
  MONGODB_DATABASE: Type.String({
    description: 'Name of the database. Each service uses only its own collections.',
    default: 'integration_sync',
    pattern: '^[A-Za-z0-9_-]{1,63}$',
    expected: 'a name of 1 to 63 letters, digits, _ or -',
  }),
  MONGODB_POOL_SIZE: Type.Integer({
    description: 'How many connections to MongoDB one process opens at most.',
    default: 16,
    minimum: 1,
    maximum: 1_000,
  }),
};
