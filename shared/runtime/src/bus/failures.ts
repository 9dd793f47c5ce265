// How a failure is written into a NATS reply and read from it, and which failure a caller gets for an error of the NATS client.
import { codes, Failure, isErrorCode, replyHeaders, type FailureExtras } from '@integration-sync/contracts';
import { JetStreamApiError, JetStreamError } from '@nats-io/jetstream';
import { ConnectionError, NoRespondersError, RequestError, TimeoutError } from '@nats-io/nats-core';
import { GoneSilent, serviceOf } from './inbox.ts';
import type { Headers } from './message.ts';

type WrittenFailure = { detail: string } & Omit<FailureExtras, 'cause'>;

export function writeFailure({ code, detail, errors, retryAfterSeconds }: Failure) {
  const status = String(codes[code].status);
  const headers = {
    [replyHeaders.status]: status,
    [replyHeaders.failure]: code,
    [replyHeaders.serviceError]: inOneLine(detail),
    [replyHeaders.serviceErrorCode]: status,
  };
  return { headers, body: JSON.stringify({ detail, errors, retryAfterSeconds }) };
}

/** A header has no line break, and need not have the whole text: the body has it. */
const inOneLine = (detail: string): string => detail.replace(/[^\x20-\x7e]+/g, ' ').slice(0, 200);

/** The failure that a reply carries; undefined for a reply that is an answer. */
export function readFailure(headers: Headers, body: Uint8Array): Failure | undefined {
  const code = headers.get(replyHeaders.failure);
  if (code === undefined) return undefined;
  const { detail, ...extras }: WrittenFailure = JSON.parse(new TextDecoder().decode(body));
  // A service of a newer release may send a code that this release does not know.
  return new Failure(isErrorCode(code) ? code : 'internal', detail, extras);
}

/** The failure for an error of the NATS client: no replica listens, no answer in time, the replica died, or another error. */
export function failureOfRequest(error: unknown, subject: string): Failure {
  if (error instanceof Failure) return error;
  const away = (detail: string): Failure =>
    new Failure('unavailable', detail, { retryAfterSeconds: 1, cause: error });
  const late = (detail: string): Failure => new Failure('timeout', detail, { cause: error });
  if (error instanceof NoRespondersError)
    return away(`The ${serviceOf(subject)} service is away; try again shortly.`);
  if (error instanceof TimeoutError)
    return late('The service did not answer in time; the request may still take effect.');
  if (error instanceof GoneSilent)
    return late('The process that had the request is gone; the request may have taken effect.');
  return away('The message bus did not take the request; try again shortly.');
}

/** Undefined if the error is no outage of JetStream. An answer 400 of nats-server is none: this service has sent a wrong request. */
export function failureOfStream(error: unknown): Failure | undefined {
  if (!isOutage(error)) return undefined;
  const detail = 'A stream of NATS is away or has no leader; try again shortly.';
  return new Failure('unavailable', detail, { retryAfterSeconds: 1, cause: error });
}

/** The client wraps some errors: a server whose JetStream is disabled answers nothing, as "jetstream is not enabled". */
const isOutage = (error: unknown): boolean =>
  error instanceof JetStreamApiError
    ? error.status !== 400
    : error instanceof Error && (awayErrors.some((one) => error instanceof one) || isOutage(error.cause));

const awayErrors = [JetStreamError, TimeoutError, NoRespondersError, RequestError, ConnectionError];
