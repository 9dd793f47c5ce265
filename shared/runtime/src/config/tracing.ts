// The settings of traces, under the names that OpenTelemetry defines.
import { Type, type Static, type TObject } from 'typebox';
import { isHttpAddress } from './addresses.ts';

const collectorAddress = {
  check: isHttpAddress,
  expected: 'an address such as http://127.0.0.1:4318, without user and password',
};

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
