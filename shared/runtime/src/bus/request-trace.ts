// To which trace a request belongs that a service answers, and the span from its message to its reply.
import { requestHeaders } from '@integration-sync/contracts';
import { readTraceparent, type Attributes, type Span } from '../tracing/index.ts';
import type { Connection } from './connection.ts';
import type { Headers } from './message.ts';

export interface RequestTrace {
  /** Undefined where nothing is traced. */
  span: Span | undefined;
  /** For what comes of the request; undefined where nothing is traced and its caller names no trace. */
  traceparent: string | undefined;
}

/** Of what is asked all the time, which is `quiet`, there is no span. */
export function openRequestTrace(
  { tracing }: Connection,
  { subject, headers, quiet }: { subject: string; headers: Headers; quiet: boolean },
): RequestTrace {
  const given = readTraceparent(headers.get(requestHeaders.traceparent));
  if (tracing === undefined || quiet) return { span: undefined, traceparent: given };
  const span = tracing.begin({
    name: `answer ${subject}`,
    kind: 'server',
    parent: given,
    attributes: {
      'messaging.system': 'nats',
      'messaging.destination.name': subject,
      'sync.integration': headers.get(requestHeaders.integration),
      'sync.requestId': headers.get(requestHeaders.requestId),
    },
  });
  return { span, traceparent: span.traceparent };
}

/** The same handler; what it asks the database is part of the span. */
export function handlerWithin<Request, Reply>(
  { tracing }: Connection,
  { span }: RequestTrace,
  handler: (request: Request) => Promise<Reply>,
): (request: Request) => Promise<Reply> {
  if (tracing === undefined || span === undefined) return handler;
  return (request) => tracing.within(span, () => handler(request));
}

export function closeRequestTrace(
  { span }: RequestTrace,
  {
    logFields = {},
    waitedMs,
    error,
  }: { logFields: Attributes | undefined; waitedMs: number; error: unknown },
): void {
  if (span === undefined) return;
  const facts = Object.entries(logFields).map(([name, value]) => [`sync.${name}`, value] as const);
  span.set({ 'sync.waitedMs': Math.round(waitedMs), ...Object.fromEntries(facts) });
  span.end(error);
}
