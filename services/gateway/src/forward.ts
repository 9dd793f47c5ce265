// Passing a request on to the service that owns it, and its answer back: bytes and headers, nothing else.
import { randomUUID } from 'node:crypto';
import { replyHeaders, requestHeaders, type Route } from '@integration-sync/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { timed, type Exchange } from './exchange.ts';
import type { Upstream } from './upstream.ts';

export async function forward(
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  upstream: Upstream,
): Promise<FastifyReply> {
  const { exchange } = request;
  exchange.upstream = route.subject;
  const body = request.body instanceof Buffer ? request.body : undefined;
  const headers = headersFor(request);
  const answer = await timed(exchange, 'upstream', () =>
    upstream.request(route.subject, {
      headers,
      ...(body === undefined ? {} : { body }),
      timeoutMs: route.timeoutMs,
    }),
  );
  for (const [name, value] of answer.headers) {
    if (name.startsWith(replyHeaders.httpPrefix)) {
      reply.header(name.slice(replyHeaders.httpPrefix.length), value);
    } else if (name.startsWith(replyHeaders.logPrefix)) {
      exchange.facts[name.slice(replyHeaders.logPrefix.length)] = readFact(value);
    }
  }
  reply.code(Number(answer.headers.get(replyHeaders.status) ?? route.answer.status));
  // An answer without a body has no type either.
  if (answer.body.length > 0) reply.header('content-type', 'application/json; charset=utf-8');
  return reply.send(Buffer.from(answer.body.buffer, answer.body.byteOffset, answer.body.length));
}

function headersFor(request: FastifyRequest): Record<string, string | undefined> {
  const { exchange, params } = request;
  return {
    [requestHeaders.integration]: exchange.caller?.integration,
    [requestHeaders.requestId]: exchange.requestId,
    [requestHeaders.traceparent]: traceparentOf(request),
    [requestHeaders.query]: rawQuery(request) || undefined,
    [requestHeaders.id]: readId(params),
  };
}

/** What stands behind the first question mark, undecoded: the service reads it by the rules of listings. */
export function rawQuery({ raw: { url = '' } }: FastifyRequest): string {
  const mark = url.indexOf('?');
  return mark === -1 ? '' : url.slice(mark + 1);
}

/** Its form was checked when the path was matched. */
function readId(params: unknown): string | undefined {
  if (typeof params !== 'object' || params === null || !('id' in params)) return undefined;
  return typeof params.id === 'string' ? params.id : undefined;
}

/** W3C trace context: the caller's trace goes on, or a new one begins. */
function traceparentOf({ headers }: FastifyRequest): string {
  const given = headers['traceparent'];
  if (typeof given === 'string' && /^00-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/.test(given)) {
    return given;
  }
  return `00-${randomHex()}-${randomHex().slice(16)}-00`;
}

/** UUIDs are drawn from a supply of random bytes; asking for bytes goes to the kernel each time. */
const randomHex = (): string => randomUUID().replaceAll('-', '');

function readFact(value: string): Exchange['facts'][string] {
  if (value === 'true' || value === 'false') return value === 'true';
  return /^-?\d{1,15}(\.\d+)?$/.test(value) ? Number(value) : value;
}
