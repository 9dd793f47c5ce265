// To which trace a request belongs: the one that its caller names, or, where the gateway traces, a new one.
import { readTraceparent, traceIdOf, type Span, type Tracing } from '@integration-sync/runtime/tracing';
import type { FastifyRequest } from 'fastify';

export interface Trace {
  /** Undefined where nothing is traced. */
  span: Span | undefined;
  /** For the services; undefined where nothing is traced and the caller names no trace. */
  traceparent: string | undefined;
  /** For the log line. */
  traceId: string | undefined;
}

export function openTrace(
  { raw: { headers }, method }: FastifyRequest,
  route: string | undefined,
  tracing: Tracing | undefined,
): Trace {
  const given = readTraceparent(headers['traceparent']);
  const span = tracing?.begin({
    // A path that does not exist is no name: callers could invent any number of them.
    name: route === undefined ? method : `${method} ${route}`,
    kind: 'server',
    parent: given,
    attributes: { 'http.request.method': method, 'http.route': route },
  });
  const traceparent = span?.traceparent ?? given;
  return { span, traceparent, traceId: traceIdOf(traceparent) };
}
