// Spans by OpenTelemetry's SDK, loaded only if a setting names a collector (index.ts).
//
// A queue holds up to 2,048 spans, and sends them every five seconds, up to 512 in one request. A full queue drops new spans: a
// collector that is away costs the memory of the queue, and delays no request.
import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import { Failure, codes } from '@integration-sync/contracts';
import * as otel from '@opentelemetry/api';
import { parseKeyPairsIntoRecord, parseTraceParent } from '@opentelemetry/core';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
  serviceNameEnvDetector,
} from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type Sampler,
  type SpanExporter,
} from '@opentelemetry/sdk-trace';
import type { TracingConfig } from '../config/index.ts';
import type { Log } from '../log.ts';
import type { Span, SpanStart, Tracing } from './span.ts';

export interface TracingOptions {
  service: string;
  config: Readonly<TracingConfig>;
  log: Log;
}

/** How long a process that ends waits for its queue of spans to be sent. */
const flushMs = 1_000;

/** `url`: the address to which spans are posted. */
export function startTracing({ service, config, log }: TracingOptions, url: string): Tracing {
  const Exporter = config.OTEL_EXPORTER_OTLP_PROTOCOL === 'http/json' ? JsonExporter : ProtobufExporter;
  const headers = parseKeyPairsIntoRecord(config.OTEL_EXPORTER_OTLP_HEADERS);
  const exporter = reporting(new Exporter({ url, headers }), log);
  const provider = new TracerProvider({
    resource: resourceOf(service),
    sampler: samplerOf(config),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  const tracer = provider.getTracer('integration-sync');
  const storage = new AsyncLocalStorage<Span>();

  return {
    begin({ name, kind, parent, attributes = {} }) {
      const from = parent === undefined ? null : parseTraceParent(parent);
      const root = otel.ROOT_CONTEXT;
      const context = from === null ? root : otel.trace.setSpanContext(root, { ...from, isRemote: true });
      return openSpan(tracer.startSpan(name, { kind: kinds[kind], attributes }, context), storage);
    },
    get current() {
      const span = storage.getStore();
      // Background work that outlives its span, such as publishing events, does not belong to the span.
      return span?.isOver === false ? span : undefined;
    },
    async [Symbol.asyncDispose]() {
      try {
        await Promise.race([provider.shutdown(), wait(flushMs, undefined, { ref: false })]);
      } catch (error) {
        log.debug({ err: error }, 'spans may be lost, as the exporter of traces did not shut down');
      }
    },
  };
}

/** Logs one line when the collector stops taking spans, and one line when it takes spans again. */
function reporting(exporter: SpanExporter, log: Log): SpanExporter {
  let lost = 0;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const { error } = result;
        if (error !== undefined && lost === 0) {
          log.warn({ err: error }, 'the collector takes no spans: spans are dropped');
        } else if (error === undefined && lost > 0) {
          log.info({ lost }, 'the collector takes spans again');
          lost = 0;
        }
        if (error !== undefined) lost += spans.length;
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}

/** OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME win over the attributes that the code sets. */
const resourceOf = (service: string) =>
  resourceFromAttributes({ 'service.namespace': 'integration-sync', 'service.name': service })
    .merge(detectResources({ detectors: [serviceInstanceIdDetector] }))
    .merge(detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] }));

const kinds: Readonly<Record<SpanStart['kind'], otel.SpanKind>> = {
  server: otel.SpanKind.SERVER,
  client: otel.SpanKind.CLIENT,
  producer: otel.SpanKind.PRODUCER,
  consumer: otel.SpanKind.CONSUMER,
};

function openSpan(span: otel.Span, storage: AsyncLocalStorage<Span>): Span {
  const { traceId, spanId, traceFlags } = span.spanContext();
  let isOver = false;
  const open: Span = {
    traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
    get isOver() {
      return isOver;
    },
    set: (attributes) => void span.setAttributes(attributes),
    within: (work) => storage.run(open, work),
    end(error) {
      isOver = true;
      if (error !== undefined) {
        span.setAttribute('error.type', typeOf(error));
        if (isFault(error)) span.setStatus({ code: otel.SpanStatusCode.ERROR });
      }
      span.end();
    },
  };
  return open;
}

/** An error of a driver is named by its class, because its message may quote a record. */
function typeOf(error: unknown): string {
  if (error instanceof Failure) return error.code;
  if (error instanceof Error) return error.name;
  return typeof error === 'string' ? error : typeof error;
}

/** A failure that the caller caused (4xx) does not make the span an error. */
const isFault = (error: unknown): boolean => !(error instanceof Failure) || codes[error.code].status >= 500;

// The sampler for OTEL_TRACES_SAMPLER: OpenTelemetry's SDK has the samplers, but does not read the setting.

function samplerOf({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: share }: TracingConfig): Sampler {
  const always = name.endsWith('always_off') ? new AlwaysOffSampler() : new AlwaysOnSampler();
  const root = name.endsWith('traceidratio') ? new TraceIdRatioBasedSampler(share) : always;
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}
