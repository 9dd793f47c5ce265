// The names of the headers that requests and replies carry between the services.

/** Of a request: who asks, under which request, for how long, and what stood in the URL. */
export const requestHeaders = {
  integration: 'integration',
  requestId: 'request-id',
  traceparent: 'traceparent',
  /** How long the reply is waited for. */
  timeoutMs: 'timeout-ms',
  /** When it was sent, by the caller's own clock. Such a caller answers when it is asked whether it still waits. */
  sentAtMs: 'sent-at-ms',
  /** The raw query string, without its question mark. */
  query: 'query',
  /** The value of `{id}` in the path. */
  id: 'id',
} as const;

/** Of a reply: how it went, what the caller's answer carries, and what belongs in the gateway's log line. */
export const replyHeaders = {
  status: 'status',
  /** An error code. With it, the body is a serialised `Failure`. */
  failure: 'failure',
  /** `http-link` becomes the HTTP header `Link`. */
  httpPrefix: 'http-',
  /** `log-created` becomes the field `created` of the gateway's log line. */
  logPrefix: 'log-',
} as const;
