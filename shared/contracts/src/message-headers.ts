// The names of the headers in requests and replies between the services.
import type { FailureEntry } from './failure.ts';

/** The headers of a request: its integration, its id, the time for which the caller waits, and the parts of the URL. */
export const requestHeaders = {
  integration: 'integration',
  requestId: 'request-id',
  /** The client (of the file of clients) whose key the caller has; absent without a key. */
  client: 'client',
  /** The trace and the parent span of the request, by W3C Trace Context. Events carry this header as well. */
  traceparent: 'traceparent',
  timeoutMs: 'timeout-ms',
  /** When the caller sent the request, by its clock. A caller with this header also answers whether it still waits. */
  sentAtMs: 'sent-at-ms',
  /**
   * How long after the sending the caller certainly waits for the reply. If it stops waiting earlier, it immediately sends a
   * message to `givenUpSubject`. A caller of an earlier release does not send this header.
   */
  promisedMs: 'promised-ms',
  /**
   * The reply subject that the caller has chosen: between two accounts nats-server replaces the reply subject of the message.
   * `callerSubject` derives from this header the subject on which a replica tells the caller that it still works on the request.
   * A caller of an earlier release does not send this header.
   */
  caller: 'caller',
  /** The raw query string, without its question mark. */
  query: 'query',
  /** The value of `{id}` in the path. */
  id: 'id',
  /** The value of `{eventId}` in the path. */
  eventId: 'event-id',
  /** The caller's `Idempotency-Key`, for a route that takes this header. */
  idempotencyKey: 'idempotency-key',
  /** `strict` if the caller wants unknown names refused (unknown-names.ts). */
  handling: 'handling',
  /** With strict handling, the errors of the gateway about parameters that the route does not have (`encodeErrors`). */
  queryErrors: 'query-errors',
} as const;

export const strictHandling = 'strict';

export const isStrict = ({ headers }: { headers: ReadonlyMap<string, string> }): boolean =>
  headers.get(requestHeaders.handling) === strictHandling;

/** Encodes errors in ASCII, for the header `queryErrors` of a NATS message. */
export const encodeErrors = (errors: readonly FailureEntry[]): string =>
  encodeURIComponent(JSON.stringify(errors));

/** The errors that the gateway found in the query. A handler adds the errors that it finds, and refuses with all of them. */
export function queryErrorsOf({ headers }: { headers: ReadonlyMap<string, string> }): FailureEntry[] {
  const errors = headers.get(requestHeaders.queryErrors);
  return errors === undefined ? [] : JSON.parse(decodeURIComponent(errors));
}

/** The version of the schema of an event. An event without this header (release 1.1.0) has version 1. */
export const eventVersionHeader = 'Event-Version';
/** The version of the schema of events. Within a version, kinds and fields are added, but none is removed. */
export const eventVersion = '1';

/** The headers of a reply: its status, the headers of the HTTP answer, and the fields for the gateway's log line. */
export const replyHeaders = {
  status: 'status',
  /** An error code. The body of a reply with this header is a `Failure` as JSON. */
  failure: 'failure',
  /** For clients of the NATS micro protocol: the `detail` of the failure in one line, and its HTTP status. */
  serviceError: 'Nats-Service-Error',
  serviceErrorCode: 'Nats-Service-Error-Code',
  /** `http-link` becomes the HTTP header `Link`. */
  httpPrefix: 'http-',
  /** `log-created` becomes the field `created` of the gateway's log line. */
  logPrefix: 'log-',
} as const;

/** In this header a replica tells the caller how long it will be silent, while the request waits for an event (runtime/bus). */
export const silentMsHeader = 'silent-ms';
