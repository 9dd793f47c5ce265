// The names of the headers that requests and replies carry between the services.
import type { FailureEntry } from './failure.ts';

/** Of a request: its integration, its id, the time for which the caller waits, and the parts of the URL. */
export const requestHeaders = {
  integration: 'integration',
  requestId: 'request-id',
  /** The client whose key the caller has, if it has one. */
  client: 'client',
  /** The trace and the parent span of the request, by W3C Trace Context. Events carry this header as well. */
  traceparent: 'traceparent',
  /** How long the caller waits for the reply. */
  timeoutMs: 'timeout-ms',
  /** When the caller sent the request, by its own clock. A caller that sends this header answers whether it still waits. */
  sentAtMs: 'sent-at-ms',
  /**
   * For how long after sending the caller promises to wait for the reply. If it stops waiting earlier, it says so at
   * once (`givenUpSubject`). A caller of an earlier release does not send this header.
   */
  promisedMs: 'promised-ms',
  /**
   * The reply subject as the caller chose it: between two accounts nats-server replaces the reply subject of the message. The
   * caller hears signs of life on `callerSubject` of it. A caller of an earlier release does not send this header.
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

/** The value of `queryErrors`. A header takes no character beyond ASCII. */
export const encodeErrors = (errors: readonly FailureEntry[]): string =>
  encodeURIComponent(JSON.stringify(errors));

/** The errors that the gateway found in the query. A handler adds its own to them, and refuses the request for all. */
export function queryErrorsOf({ headers }: { headers: ReadonlyMap<string, string> }): FailureEntry[] {
  const errors = headers.get(requestHeaders.queryErrors);
  return errors === undefined ? [] : JSON.parse(decodeURIComponent(errors));
}

/** Of an event: the version of its schema. A replica of release 1.1.0 sends none, which means 1. */
export const eventVersionHeader = 'Event-Version';
/** Within a version events get kinds and fields, and lose none. */
export const eventVersion = '1';

/** Of a reply: its status, the headers of the HTTP answer, and the fields for the gateway's log line. */
export const replyHeaders = {
  status: 'status',
  /** An error code. The body of a reply with this header is a `Failure` as JSON. */
  failure: 'failure',
  /** The same failure for clients of the micro protocol: its detail in one line, and its HTTP status. */
  serviceError: 'Nats-Service-Error',
  serviceErrorCode: 'Nats-Service-Error-Code',
  /** `http-link` becomes the HTTP header `Link`. */
  httpPrefix: 'http-',
  /** `log-created` becomes the field `created` of the gateway's log line. */
  logPrefix: 'log-',
} as const;

/** In a sign of life (runtime/bus): for how long no other sign follows, because the request waits for an event. */
export const silentMsHeader = 'silent-ms';
