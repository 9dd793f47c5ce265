// The settings that several services share. The `config.ts` of a service has its own settings.
import { Type } from 'typebox';
import { isHttpAddress } from './addresses.ts';
import { jetstreamSettings, natsSettings } from './nats.ts';
import { tracingSettings } from './tracing.ts';

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
