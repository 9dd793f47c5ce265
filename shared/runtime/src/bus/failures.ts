// Failures as data: how an error is written into a reply, read out of one, and what the NATS client's own
// errors mean to a caller.
import { codes, Failure, isErrorCode, replyHeaders, type FailureExtras } from '@integration-sync/contracts';
import { NoRespondersError, TimeoutError } from '@nats-io/nats-core';
import { GoneSilent, serviceOf } from './inbox.ts';
import type { Headers } from './message.ts';

type WrittenFailure = { detail: string } & Omit<FailureExtras, 'cause'>;

export function writeFailure({ code, detail, errors, retryAfterSeconds }: Failure): {
  headers: Record<string, string>;
  body: string;
} {
  const headers = { [replyHeaders.status]: String(codes[code].status), [replyHeaders.failure]: code };
  return { headers, body: JSON.stringify({ detail, errors, retryAfterSeconds }) };
}

/** The failure that a reply carries, or undefined when it carries an answer. */
export function readFailure(headers: Headers, body: Uint8Array): Failure | undefined {
  const code = headers.get(replyHeaders.failure);
  if (code === undefined) return undefined;
  const { detail, ...extras }: WrittenFailure = JSON.parse(new TextDecoder().decode(body));
  // A newer peer may know codes that we do not.
  return new Failure(isErrorCode(code) ? code : 'internal', detail, extras);
}

/** What a failed request means: no replica is there, none answers in time, none is left, or no rule names it. */
export function failureOfRequest(error: unknown, subject: string): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof NoRespondersError) {
    return new Failure('unavailable', `The ${serviceOf(subject)} service is away; try again shortly.`, {
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
