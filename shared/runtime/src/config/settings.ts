// The settings that several services share. A service's own ones stand in its `config.ts`.
import { Type } from 'typebox';
import { isHttpAddress } from './addresses.ts';
import { jetstreamSettings, natsSettings } from './nats.ts';
import { tracingSettings } from './tracing.ts';

/** What every service with streams needs. */
export const baseSettings = {
  ...natsSettings,
  ...jetstreamSettings,
  NATS_MONITOR_URL: Type.Optional(
    Type.String({
      description:
        'Where the monitoring of nats-server answers. With it, readiness refuses a server that acknowledges ' +
        'what it has not written to its disk.',
      check: isHttpAddress,
      expected: 'an address such as http://127.0.0.1:8222, without user and password',
    }),
  ),
  STREAM_REPLICAS: Type.Optional(
    Type.Integer({
      description:
        'How many NATS servers keep a copy of each stream: 3 on a cluster. Without it 1 where a stream is made, ' +
        'and what it has where it is there. Fewer need STREAMS_MAY_SHRINK.',
      minimum: 1,
      maximum: 5,
    }),
  ),
  EVENTS_KEEP_DAYS: Type.Optional(
    Type.Integer({
      description:
        'For how many days EVENTS and EVENT_BATCHES keep an event. Unset: new streams keep one for 7 days, ' +
        'existing ones as they do. Fewer days need STREAMS_MAY_SHRINK.',
      minimum: 1,
      maximum: 3_650,
    }),
  ),
  EVENTS_MAX_BYTES: Type.Optional(
    Type.Integer({
      description:
        'How many bytes the stream EVENTS may have; 0: no limit. Unset: a new stream has no limit, ' +
        'an existing one keeps its own. A lower limit needs STREAMS_MAY_SHRINK.',
      minimum: 0,
    }),
  ),
  STREAMS_MAY_SHRINK: Type.Boolean({
    description:
      'Whether this process may take copies, days or bytes from a stream that is there, where its settings ' +
      'say fewer. Set it for one start, and take it out again.',
    default: false,
  }),
  LOG_LEVEL: Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
    description: 'The least serious kind of line that is logged.',
    default: 'info',
  }),
  BUILD_REVISION: Type.String({
    description:
      'Which commit this process was built from. The image sets it; metrics and `nats micro info` show it.',
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

/** What a service with records of its own needs beside them. */
export const storeSettings = {
  MONGODB_URL: Type.String({
    description:
      'Address of MongoDB. Options in it are kept, except those that the service sets itself: a line at its start names them.',
    default: 'mongodb://127.0.0.1:27017',
    pattern: '^mongodb(\\+srv)?://\\S+$',
    expected: 'an address such as mongodb://127.0.0.1:27017',
    file: true,
  }),
  MONGODB_DATABASE: Type.String({
    description: 'Name of the database. Each service keeps to its own collections in it.',
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
