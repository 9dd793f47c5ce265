// The header by which one program tells another to which trace a piece of work belongs, and which step it comes from
// (W3C Trace Context). Pure.

const pattern = /^00-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;

/** The header as it came, if it is one. */
export const readTraceparent = (text: unknown): string | undefined =>
  typeof text === 'string' && pattern.test(text) ? text : undefined;

const idAt = 3;
const idEnd = idAt + 32;

/** For log lines: the same in every line of a trace. */
export const traceIdOf = (traceparent: string | undefined): string | undefined =>
  traceparent?.slice(idAt, idEnd);
