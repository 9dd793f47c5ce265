// Failures as data: how an error is written into a reply, read out of one, and what the NATS client's own
// errors mean to a caller.
import { codes, Failure, isErrorCode, replyHeaders, type FailureEntry } from '@integration-sync/contracts';
import { NoRespondersError, TimeoutError } from '@nats-io/nats-core';
import { GoneSilent } from './inbox.ts';
import type { Headers } from './message.ts';

interface WrittenFailure {
  detail: string;
  errors?: FailureEntry[];
  retryAfterSeconds?: number;
}

export function writeFailure(failure: Failure): { headers: Record<string, string>; body: string } {
  const written: WrittenFailure = {
    detail: failure.detail,
    ...(failure.errors === undefined ? {} : { errors: failure.errors }),
    ...(failure.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: failure.retryAfterSeconds }),
  };
  const headers = {
    [replyHeaders.status]: String(codes[failure.code].status),
    [replyHeaders.failure]: failure.code,
  };
  return { headers, body: JSON.stringify(written) };
}

/** The failure that a reply carries, or undefined when it carries an answer. */
export function readFailure(headers: Headers, body: Uint8Array): Failure | undefined {
  const code = headers.get(replyHeaders.failure);
  if (code === undefined) return undefined;
  const written: WrittenFailure = JSON.parse(new TextDecoder().decode(body));
  const { detail, errors, retryAfterSeconds } = written;
  // A newer peer may know codes that we do not.
  return new Failure(isErrorCode(code) ? code : 'internal', detail, {
    ...(errors === undefined ? {} : { errors }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  });
}

/** What a failed request means: no replica is there, none answers in time, none is left, or no rule names it. */
export function failureOfRequest(error: unknown, subject: string): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof NoRespondersError) {
    const service = subject.split('.')[1] ?? subject;
    return new Failure('unavailable', `The ${service} service is away; try again shortly.`, {
      retryAfterSeconds: 1,
      cause: error,
    });
  }
  if (error instanceof TimeoutError) {
    return new Failure('timeout', 'The service did not answer in time; the request may still take effect.', {
      cause: error,
    });
  }
  if (error instanceof GoneSilent) {
    return new Failure('timeout', 'The process that had the request is gone; it may have taken effect.', {
      cause: error,
    });
  }
  return new Failure('unavailable', 'The message bus did not take the request; try again shortly.', {
    retryAfterSeconds: 1,
    cause: error,
  });
}
