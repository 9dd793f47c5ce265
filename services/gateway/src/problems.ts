// Every refusal of the gateway is an RFC 9457 problem, made from a `Failure` by the table of codes
// (contracts/error-codes.ts); only the token endpoint answers as RFC 6749 says (oauth/refusal.ts). Any other error is
// either an error of Fastify, named below, or a fault of the gateway, of which the caller learns nothing.
import { codes, Failure, problemOf, type Problem } from '@integration-sync/contracts';
import type { Log } from '@integration-sync/runtime/log';
import type { FastifyReply, FastifyRequest } from 'fastify';

export const problemType = 'application/problem+json';

/** A failure with a status for which the closed list of codes has no code. */
export class StatusFailure extends Failure {
  readonly status: 408 | 431;

  constructor(status: StatusFailure['status'], detail: string) {
    super('invalid_request', detail);
    this.status = status;
  }
}

export const statusOf = (failure: Failure): number =>
  failure instanceof StatusFailure ? failure.status : codes[failure.code].status;

export const bodyOf = (failure: Failure, requestId: string): Problem => ({
  ...problemOf(failure, requestId),
  status: statusOf(failure),
});

/** `Retry-After` of a failure that names no time. */
const retryAfterSeconds = 1;

/** Puts status and headers on the reply, and returns the body, which is not sent yet. */
export function writeFailure(request: FastifyRequest, reply: FastifyReply, failure: Failure): Buffer {
  const status = statusOf(failure);
  request.exchange.code = failure.code;
  if (status >= 500) request.exchange.detail = failure.detail;
  if (failure.code === 'unavailable' || failure.code === 'rate_limited') {
    reply.header('retry-after', failure.retryAfterSeconds ?? retryAfterSeconds);
  }
  // The body is returned as bytes: to a text Fastify would add a charset, which this content type does not have.
  reply.code(status).header('content-type', problemType);
  return Buffer.from(JSON.stringify(bodyOf(failure, request.exchange.requestId)));
}

export function failureOf(error: unknown, request: FastifyRequest, log: Log): Failure {
  if (error instanceof Failure) return error;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'FST_ERR_BAD_URL') {
    return new Failure(
      'invalid_request',
      'The path cannot be decoded: it must be percent-encoded UTF-8, each % followed by two hex digits.',
    );
  }
  // Fastify refuses an id in the path that is longer than any id that a service issues: nothing has this id.
  if (code === 'FST_ERR_MAX_PARAM_LENGTH') return notFound();
  log.error({ err: error, requestId: request.exchange.requestId }, 'request failed unexpectedly');
  return new Failure('internal', 'Something went wrong on our side; the request id leads us to it.');
}

export const notFound = (): Failure => new Failure('not_found', 'There is nothing at this address.');
