// The facts of one request while the gateway answers, and the log line at the end of the request. An exchange never holds
// a token, a body or a secret, and holds only the route of the URL.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { ErrorCode, FailureEntry } from '@integration-sync/contracts';
import type { Log } from '@integration-sync/runtime/log';
import type { Metrics } from '@integration-sync/runtime/metrics';
import { readTraceparent, traceIdOf, type Span, type Tracing } from '@integration-sync/runtime/tracing';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { BodyReservation } from '../body/body-budgets.ts';
import type { Reservation } from '../body/fair-budget.ts';
import type { Caller } from '../tokens/token-claims.ts';

declare module 'fastify' {
  interface FastifyRequest {
    exchange: Exchange;
  }
}

export type Stage = 'token' | 'body' | 'road' | 'answers' | 'upstream';

export class Exchange {
  readonly requestId: string;
  /** A span of the caller's trace or of a new trace; undefined without tracing. */
  readonly span: Span | undefined;
  /** The `traceparent` for requests to services; undefined if neither tracing is on nor the caller sent a trace. */
  readonly traceparent: string | undefined;
  readonly startedAt = performance.now();
  /** When the gateway handed the answer to Node; undefined if the caller had hung up. */
  answeredAt: number | undefined;
  caller: Caller | undefined;
  /** Whether the caller sent `Prefer: handling=strict`. */
  isStrict = false;
  /** With `Prefer: handling=strict`, one error for each query parameter that the route does not have. */
  queryErrors: readonly FailureEntry[] = [];
  code: ErrorCode | undefined;
  /** Why a token, a key or a token request was refused: for the log. A 401 does not tell which check a token failed. */
  refusal: string | undefined;
  /** The `detail` of an error answer with a status of 500 or more, for the log line. */
  detail: string | undefined;
  /** The error on the connection that ended the request before the gateway could answer. */
  clientError: { status: number; reason: string } | undefined;
  /** The reserved bytes of the body, until the function `forward` manages them. */
  reservation: BodyReservation | undefined;
  /** The reserved bytes of the answer, until the caller has read it. */
  answer: Reservation | undefined;
  /** The subject on which the gateway asks the service. */
  upstream: string | undefined;
  bytesIn = 0;
  bytesOut = 0;
  readonly stages: Partial<Record<Stage, number>> = {};
  /** Counts and other facts that the service sent for the log line. */
  readonly facts: Record<string, string | number | boolean> = {};

  constructor(request: FastifyRequest, tracing: Tracing | undefined) {
    const { raw, method } = request;
    const route = routeOf(request);
    const parent = readTraceparent(raw.headers['traceparent']);
    this.requestId = requestIdOf(raw);
    this.span = (isQuiet(route) ? undefined : tracing)?.begin({
      // An unknown path gives no name to a span: callers could invent any number of paths.
      name: route === undefined ? method : `${method} ${route}`,
      kind: 'server',
      parent,
      attributes: { 'http.request.method': method, 'http.route': route },
    });
    this.traceparent = this.span?.traceparent ?? parent;
  }
}

/** The caller's own id if that id is short and plain enough to be repeated anywhere, else a new id. */
function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w.-]{1,128}$/.test(given) ? given : randomUUID();
}

/** The path as the table of routes has it; undefined for an unknown path. */
const routeOf = ({ routeOptions }: FastifyRequest): string | undefined =>
  routeOptions.config?.path ?? routeOptions.url;

export async function timed<T>(exchange: Exchange, stage: Stage, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  try {
    return await work();
  } finally {
    exchange.stages[stage] = milliseconds(performance.now() - startedAt);
  }
}

/** Logs the canonical line of a request, however the request ended. */
export function closeExchange(
  request: FastifyRequest,
  reply: FastifyReply,
  { log, metrics }: { log: Log; metrics: Metrics },
): void {
  const { exchange } = request;
  exchange.reservation?.release();
  exchange.answer?.release();
  const route = routeOf(request);
  const aborted = exchange.answeredAt === undefined && exchange.clientError === undefined;
  const durationMs = (exchange.answeredAt ?? performance.now()) - exchange.startedAt;
  const status = aborted ? 0 : (exchange.clientError?.status ?? reply.statusCode);
  // Probes come every few seconds, so that only failed probes are worth a line above `debug`.
  const quiet = isQuiet(route) && status < 500;
  log[quiet ? 'debug' : status >= 500 ? 'warn' : 'info'](
    {
      ...exchange.facts,
      requestId: exchange.requestId,
      traceId: traceIdOf(exchange.traceparent),
      integration: exchange.caller?.integration,
      client: exchange.caller?.client,
      key: exchange.caller?.key,
      method: request.method,
      route,
      status,
      code: exchange.code,
      refusal: exchange.refusal,
      detail: exchange.detail,
      reason: exchange.clientError?.reason,
      aborted: aborted || undefined,
      bytesIn: exchange.bytesIn,
      bytesOut: exchange.bytesOut,
      durationMs: milliseconds(durationMs),
      stages: exchange.stages,
      upstream: exchange.upstream,
    },
    'request',
  );
  exchange.span?.set({
    'http.response.status_code': aborted ? undefined : status,
    'sync.integration': exchange.caller?.integration,
    'sync.requestId': exchange.requestId,
    'sync.aborted': aborted || undefined,
    'sync.code': exchange.code,
  });
  exchange.span?.end(status >= 500 ? exchange.code : undefined);
  // Unknown paths share one label: callers could invent any number of paths.
  const exists = route !== undefined && exchange.code !== 'method_not_allowed';
  metrics.observeRequest({
    subject: exists ? `${request.method} ${route}` : 'unknown',
    outcome: exchange.code ?? 'ok',
    seconds: durationMs / 1_000,
  });
}

const isQuiet = (route = ''): boolean => ['/healthz', '/readyz'].includes(route);

const milliseconds = (value: number): number => Math.round(value * 1_000) / 1_000;
