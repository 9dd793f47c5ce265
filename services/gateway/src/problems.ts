// Every refusal that leaves the gateway: RFC 9457 problems, made from failures by the one table of codes.
// Whatever is no `Failure` is either one of Fastify's own errors, named below, or our fault and none of the
// caller's business.
import { codes, Failure, problemOf } from '@integration-sync/contracts';
import type { Log } from '@integration-sync/runtime/log';
import type { FastifyReply, FastifyRequest } from 'fastify';

export const problemType = 'application/problem+json';

/** How long to wait before another try, where nobody said. */
const retryAfterSeconds = 1;

/** Puts status and headers on the reply; the body is for the caller to send. */
export function writeFailure(request: FastifyRequest, reply: FastifyReply, failure: Failure): Buffer {
  const { status } = codes[failure.code];
  request.exchange.code = failure.code;
  if (status >= 500) request.exchange.detail = failure.detail;
  if (failure.code === 'unavailable' || failure.code === 'rate_limited') {
    reply.header('retry-after', failure.retryAfterSeconds ?? retryAfterSeconds);
  }
  // Bytes, because Fastify would add a charset to text, which this type does not have.
  reply.code(status).header('content-type', problemType);
  return Buffer.from(JSON.stringify(problemOf(failure, request.exchange.requestId)));
}

export function failureOf(error: unknown, request: FastifyRequest, log: Log): Failure {
  if (error instanceof Failure) return error;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'FST_ERR_BAD_URL') {
    return new Failure(
      'invalid_request',
      'The URL cannot be decoded: a % must be followed by two hex digits.',
    );
  }
  // No path parameter that names something is that long.
  if (code === 'FST_ERR_MAX_PARAM_LENGTH') return notFound();
  log.error({ err: error, requestId: request.exchange.requestId }, 'request failed unexpectedly');
  return new Failure('internal', 'Something went wrong on our side; the request id leads us to it.');
}

export const notFound = (): Failure => new Failure('not_found', 'There is nothing at this address.');

export const methodNotAllowed = (method: string, allow: string): Failure =>
  new Failure('method_not_allowed', `This address takes ${allow}, not ${method}.`);
