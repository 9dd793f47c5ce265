// Traces of requests through the services, up to the receivers of their events. If a setting names a collector, OpenTelemetry's SDK
// makes and sends the spans. Otherwise no module of the SDK is loaded, and services only pass on a caller's `traceparent`
// (traceparent.ts).
import type { Log } from '../log.ts';
import type { TracingConfig } from '../config/index.ts';
import type { Tracing } from './span.ts';

export { spanning, type Attributes, type Span, type SpanStart, type Tracing } from './span.ts';
export { readTraceparent, traceIdOf } from './traceparent.ts';

export interface TracingOptions {
  service: string;
  config: Readonly<TracingConfig>;
  log: Log;
}

/** Opens the tracing of the process; resolves with undefined if tracing is off. */
export async function openTracing({ service, config, log }: TracingOptions): Promise<Tracing | undefined> {
  const url = addressOf(config);
  if (url === undefined || config.OTEL_SDK_DISABLED) return undefined;
  const { startTracing } = await import('./opentelemetry.ts');
  const tracing = startTracing({ service, config, url, log });
  log.info({ collector: url }, 'tracing');
  return tracing;
}

function addressOf(config: TracingConfig): string | undefined {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: whole } = config;
  return whole ?? (base === undefined ? undefined : `${base.replace(/\/$/, '')}/v1/traces`);
}
