// What the gateway knows about one request while it answers it, and the one line that it logs at the end. No token, no
// body and no secret ever stands here, and of the URL only the route.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { ErrorCode } from '@integration-sync/contracts';
import type { Log } from '@integration-sync/runtime/log';
import type { Metrics } from '@integration-sync/runtime/metrics';
import { readTraceparent, traceIdOf, type Span, type Tracing } from '@integration-sync/runtime/tracing';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { BodyReservation } from '../body/body-budgets.ts';
import type { Caller } from '../tokens/claims.ts';

declare module 'fastify' {
  interface FastifyRequest {
    exchange: Exchange;
  }
}

export type Stage = 'token' | 'body' | 'road' | 'upstream';

export class Exchange {
  readonly requestId: string;
  /** Of the trace that the caller names, or of a new one; undefined where nothing is traced. */
  readonly span: Span | undefined;
  /** For the services; undefined where nothing is traced and the caller names no trace. */
  readonly traceparent: string | undefined;
  readonly startedAt = performance.now();
  /** When the gateway handed the answer to Node; undefined where the caller had hung up. */
  answeredAt: number | undefined;
  caller: Caller | undefined;
  /** The caller asked for it by `Prefer: handling=strict`. */
  isStrict = false;
  /** Why the answer is no success. */
  code: ErrorCode | undefined;
  /** Which check the token failed: for the log, not for the caller. */
  refusal: string | undefined;
  /** What the answer says about a fault that is not the caller's. */
  detail: string | undefined;
  /** The error on its connection that ended it before the gateway could answer. */
  clientError: { status: number; reason: string } | undefined;
  /** The bytes of its body, until `forward` takes them over. */
  reservation: BodyReservation | undefined;
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
      // A path that does not exist is no name: callers could invent any number of them.
      name: route === undefined ? method : `${method} ${route}`,
      kind: 'server',
      parent,
      attributes: { 'http.request.method': method, 'http.route': route },
    });
    this.traceparent = this.span?.traceparent ?? parent;
  }
}

/** The gateway keeps the caller's own id if it is short and plain enough to be repeated anywhere, else it makes one. */
function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w.-]{1,128}$/.test(given) ? given : randomUUID();
}

/** As the table of routes has it; undefined for a path that does not exist. */
const routeOf = ({ routeOptions }: FastifyRequest): string | undefined =>
  routeOptions.config?.path ?? routeOptions.url;

/** Runs one stage of the work and notes its duration. */
export async function timed<T>(exchange: Exchange, stage: Stage, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  try {
    return await work();
  } finally {
    exchange.stages[stage] = milliseconds(performance.now() - startedAt);
  }
}

/** Logs the canonical line: one per request, however it ended. */
export function closeExchange(
  request: FastifyRequest,
  reply: FastifyReply,
  { log, metrics }: { log: Log; metrics: Metrics },
): void {
  const { exchange } = request;
  exchange.reservation?.release();
  const route = routeOf(request);
  const aborted = exchange.answeredAt === undefined && exchange.clientError === undefined;
  const durationMs = (exchange.answeredAt ?? performance.now()) - exchange.startedAt;
  const status = aborted ? 0 : (exchange.clientError?.status ?? reply.statusCode);
  // Probes come every few seconds and say little, as long as all is well.
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
  // A path that does not exist is not counted by name: callers could invent any number of them.
  const exists = route !== undefined && exchange.code !== 'method_not_allowed';
  metrics.observeRequest({
    subject: exists ? `${request.method} ${route}` : 'unknown',
    outcome: exchange.code ?? 'ok',
    seconds: durationMs / 1_000,
  });
}

const quietRoutes: ReadonlySet<string> = new Set(['/healthz', '/readyz']);
const isQuiet = (route = ''): boolean => quietRoutes.has(route);

const milliseconds = (value: number): number => Math.round(value * 1_000) / 1_000;
