// The header `traceparent` of W3C Trace Context, which names the trace and the parent span of a request. Pure.

const pattern = /^00-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;

export const readTraceparent = (text: unknown): string | undefined =>
  typeof text === 'string' && pattern.test(text) ? text : undefined;

const idAt = 3;
const idEnd = idAt + 32;

/** The trace id for log lines: every line of a trace has the same id. */
export const traceIdOf = (traceparent: string | undefined): string | undefined =>
  traceparent?.slice(idAt, idEnd);
