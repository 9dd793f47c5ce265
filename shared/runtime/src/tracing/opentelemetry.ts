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
import type { Attributes, Span, SpanStart, Tracing } from './span.ts';

export interface SdkOptions {
  service: string;
  config: Readonly<TracingConfig>;
  /** The address to which spans are posted. */
  url: string;
  log: Log;
}

/** How long a process that ends waits for its queue of spans to be sent. */
const flushMs = 1_000;

export function startTracing({ service, config, url, log }: SdkOptions): Tracing {
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
      const context =
        from === null
          ? otel.ROOT_CONTEXT
          : otel.trace.setSpanContext(otel.ROOT_CONTEXT, { ...from, isRemote: true });
      return new OpenSpan(tracer.startSpan(name, { kind: kinds[kind], attributes }, context), storage);
    },
    get current() {
      const span = storage.getStore();
      // Background work that outlives its span, such as announcing, does not belong to the span.
      return span?.isOver === false ? span : undefined;
    },
    async [Symbol.asyncDispose]() {
      const flushed = provider
        .shutdown()
        .catch((error: unknown) =>
          log.debug({ err: error }, 'spans may be lost, as the exporter of traces did not shut down'),
        );
      await Promise.race([flushed, wait(flushMs, undefined, { ref: false })]);
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

class OpenSpan implements Span {
  readonly traceparent: string;
  readonly #span: otel.Span;
  readonly #storage: AsyncLocalStorage<Span>;
  isOver = false;

  constructor(span: otel.Span, storage: AsyncLocalStorage<Span>) {
    this.#span = span;
    this.#storage = storage;
    const { traceId, spanId, traceFlags } = span.spanContext();
    this.traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  }

  set(attributes: Attributes): void {
    this.#span.setAttributes(attributes);
  }

  within<T>(work: () => T): T {
    return this.#storage.run(this, work);
  }

  end(error?: unknown): void {
    this.isOver = true;
    if (error !== undefined) {
      this.#span.setAttribute('error.type', typeOf(error));
      if (isFault(error)) this.#span.setStatus({ code: otel.SpanStatusCode.ERROR });
    }
    this.#span.end();
  }
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
  const isParentBased = name.startsWith('parentbased_');
  const root = rootOf(name.replace('parentbased_', ''), share);
  return isParentBased ? new ParentBasedSampler({ root }) : root;
}

function rootOf(name: string, share: number): Sampler {
  if (name === 'traceidratio') return new TraceIdRatioBasedSampler(share);
  return name === 'always_off' ? new AlwaysOffSampler() : new AlwaysOnSampler();
}
