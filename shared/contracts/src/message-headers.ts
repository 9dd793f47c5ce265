// The names of the headers that requests and replies carry between the services.

/** Of a request: its integration, its id, how long the caller waits, and what stood in the URL. */
export const requestHeaders = {
  integration: 'integration',
  requestId: 'request-id',
  /** To which trace it belongs, and which step it comes from, as W3C Trace Context has it. Events carry it as well. */
  traceparent: 'traceparent',
  /** How long the caller waits for the reply. */
  timeoutMs: 'timeout-ms',
  /** When the caller sent it, by its own clock. A caller with this header answers whether it still waits. */
  sentAtMs: 'sent-at-ms',
  /**
   * For so long after it was sent the request does not fail for a reason of the caller's own process, which says so at once
   * where it stops waiting all the same. A caller of an earlier release promises nothing.
   */
  promisedMs: 'promised-ms',
  /** The raw query string, without its question mark. */
  query: 'query',
  /** The value of `{id}` in the path. */
  id: 'id',
  /** The value of `{eventId}` in the path. */
  eventId: 'event-id',
  /** What a caller gave as `Idempotency-Key`, for a route that takes one. */
  idempotencyKey: 'idempotency-key',
  /** `strict` where the caller wants to be told of names that are not known (unknown-names.ts). */
  handling: 'handling',
} as const;

export const strictHandling = 'strict';

export const isStrict = ({ headers }: { headers: ReadonlyMap<string, string> }): boolean =>
  headers.get(requestHeaders.handling) === strictHandling;

/** Of a reply: its status, the headers of the HTTP answer, and the fields for the gateway's log line. */
export const replyHeaders = {
  status: 'status',
  /** An error code. With it, the body is a `Failure` as JSON. */
  failure: 'failure',
  /** `http-link` becomes the HTTP header `Link`. */
  httpPrefix: 'http-',
  /** `log-created` becomes the field `created` of the gateway's log line. */
  logPrefix: 'log-',
} as const;

/** Of a sign of life (runtime/bus): for so long none follows, as the replica waits for something. */
export const silentMsHeader = 'silent-ms';
