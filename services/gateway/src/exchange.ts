// What is known about one request while it is being answered, and the one line that is logged about it at the
// end. No token, no body and no secret ever stands here, and of the URL only the route.
import type { IncomingMessage } from 'node:http';
import { randomUUID } from 'node:crypto';
import type { ErrorCode } from '@integration-sync/contracts';
import type { Log } from '@integration-sync/runtime/log';
import type { Metrics } from '@integration-sync/runtime/metrics';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from './claims.ts';
import type { Room } from './room.ts';

declare module 'fastify' {
  interface FastifyRequest {
    exchange: Exchange;
  }
}

export type Stage = 'token' | 'body' | 'road' | 'upstream';

export interface Exchange {
  requestId: string;
  startedAt: number;
  /** When the answer was handed over; never, for a caller that had hung up. */
  answeredAt: number | undefined;
  caller: Caller | undefined;
  /** Why it was not answered with success. */
  code: ErrorCode | undefined;
  /** Which check a token failed: for us, not for the caller. */
  refusal: string | undefined;
  /** What a caller was told of a fault that is not theirs. */
  detail: string | undefined;
  /** How it was broken off on its connection, before it could be answered. */
  brokenOff: { status: number; reason: string } | undefined;
  /** What its body takes, as long as no request to a service does. */
  room: Room | undefined;
  /** The subject that was asked. */
  upstream: string | undefined;
  bytesIn: number;
  bytesOut: number;
  stages: Partial<Record<Stage, number>>;
  /** Counts and other facts that the service sent along. */
  facts: Record<string, string | number | boolean>;
}

export const openExchange = (requestId: string): Exchange => ({
  requestId,
  startedAt: performance.now(),
  answeredAt: undefined,
  caller: undefined,
  code: undefined,
  refusal: undefined,
  detail: undefined,
  brokenOff: undefined,
  room: undefined,
  upstream: undefined,
  bytesIn: 0,
  bytesOut: 0,
  stages: {},
  facts: {},
});

/** The caller's own id is kept if it is short and plain enough to be repeated anywhere; else replaced whole. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w.-]{1,128}$/.test(given) ? given : randomUUID();
}

/** Runs one stage of the work and notes how long it took. */
export async function timed<T>(exchange: Exchange, stage: Stage, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  try {
    return await work();
  } finally {
    exchange.stages[stage] = milliseconds(performance.now() - startedAt);
  }
}

/** The canonical line: one per request, whatever became of it. */
export function closeExchange(
  request: FastifyRequest,
  reply: FastifyReply,
  { log, metrics }: { log: Log; metrics: Metrics },
): void {
  const { exchange } = request;
  exchange.room?.release();
  const route = request.routeOptions.config?.path ?? request.routeOptions.url;
  const aborted = exchange.answeredAt === undefined && exchange.brokenOff === undefined;
  const durationMs = (exchange.answeredAt ?? performance.now()) - exchange.startedAt;
  const status = aborted ? 0 : (exchange.brokenOff?.status ?? reply.statusCode);
  // Probes come every few seconds and say little, as long as all is well.
  const quiet = quietRoutes.has(route ?? '') && status < 500;
  log[quiet ? 'debug' : status >= 500 ? 'warn' : 'info'](
    {
      ...exchange.facts,
      requestId: exchange.requestId,
      integration: exchange.caller?.integration,
      method: request.method,
      route,
      status,
      code: exchange.code,
      refusal: exchange.refusal,
      detail: exchange.detail,
      reason: exchange.brokenOff?.reason,
      aborted: aborted || undefined,
      bytesIn: exchange.bytesIn,
      bytesOut: exchange.bytesOut,
      durationMs: milliseconds(durationMs),
      stages: exchange.stages,
      upstream: exchange.upstream,
    },
    'request',
  );
  // Of what does not exist nothing is counted by name: anybody can invent it.
  const exists = route !== undefined && exchange.code !== 'method_not_allowed';
  metrics.observeRequest({
    subject: exists ? `${request.method} ${route}` : 'unknown',
    outcome: exchange.code ?? 'ok',
    seconds: durationMs / 1_000,
  });
}

const quietRoutes: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

const milliseconds = (value: number): number => Math.round(value * 1_000) / 1_000;
