// Traces of requests, up to the receivers of their events. If a setting names a collector, OpenTelemetry's SDK makes and sends the
// spans. Otherwise no module of the SDK is loaded, and services only pass on a caller's `traceparent`.
import { maskAddresses, type TracingConfig } from '../config/index.ts';
import type { TracingOptions } from './opentelemetry.ts';
import type { Tracing } from './span.ts';

export { spanning, type Attributes, type Span, type SpanStart, type Tracing } from './span.ts';
export { readTraceparent, traceIdOf } from './traceparent.ts';

/** Resolves with undefined if tracing is off. */
export async function openTracing(options: TracingOptions): Promise<Tracing | undefined> {
  const url = addressOf(options.config);
  if (url === undefined || options.config.OTEL_SDK_DISABLED) return undefined;
  const { startTracing } = await import('./opentelemetry.ts');
  const tracing = startTracing(options, url);
  options.log.info({ collector: maskAddresses(url) }, 'tracing');
  return tracing;
}

function addressOf(config: TracingConfig): string | undefined {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: whole } = config;
  return whole ?? (base === undefined ? undefined : `${base.replace(/\/$/, '')}/v1/traces`);
}
