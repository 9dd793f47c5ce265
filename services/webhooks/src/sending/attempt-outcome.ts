// The outcome of an attempt, in the words of the attempt log. They name causes that the operator of the receiver can correct. A
// cause that only the operator of this service can correct is no outcome (`faultOfOurs`).
import { Failure, limits } from '@integration-sync/contracts';
import { escapedBytesMax, maskValues } from './mask-values.ts';

export type Verdict = 'succeeded' | 'failed' | 'gone';

export interface Outcome {
  verdict: Verdict;
  /** The status of the answer; null without an answer. */
  responseStatus: number | null;
  /** Why the attempt failed; null after a success. */
  error: string | null;
  /** The answer of the receiver, if it answered with a failure. */
  answer?: FailedAnswer;
}

export const timedOut = `timeout: no complete answer within ${limits.deliveryDeadlineMs / 1_000} s`;

/** The outcome of an attempt that got an answer. `broken` is the error that ended the answer early, if any. */
export function outcomeOfAnswer(responseStatus: number, broken?: unknown): Outcome {
  if (responseStatus === 410)
    return { verdict: 'gone', responseStatus, error: 'the receiver answered 410 Gone' };
  if (responseStatus >= 300 && responseStatus < 400)
    return failed(responseStatus, `redirects are not followed (${responseStatus})`);
  if (responseStatus < 200 || responseStatus > 299)
    return failed(responseStatus, `the receiver answered ${responseStatus}`);
  if (broken !== undefined) return failed(responseStatus, describeBreak(broken));
  return { verdict: 'succeeded', responseStatus, error: null };
}

const failed = (responseStatus: number | null, error: string): Outcome => ({
  verdict: 'failed',
  responseStatus,
  error,
});

export const outcomeOfSilence = (error: unknown): Outcome => failed(null, describeBreak(error));

/** The error if no complete answer, or no connection, came within its time. The integrator sees the message. */
export class TimedOut extends Error {
  override readonly name = 'TimedOut';
}

export class ProxyAway extends Error {
  override readonly name = 'ProxyAway';
}

/** The error if an answer exceeds a bound. The integrator sees the message. */
export class AnswerTooLong extends Error {
  override readonly name = 'AnswerTooLong';
}

/** The fault of this service or of its proxy that prevented the sending of an attempt, if any. Such an attempt does not count. */
export function faultOfOurs(error: unknown): Failure | undefined {
  if (!(error instanceof Error)) return undefined;
  // The guard also refuses a name that could not be resolved: this process may have lacked memory or file descriptors.
  if (error.name === 'TargetRefused') return faultOfOurs(error.cause);
  const why =
    error instanceof ProxyAway
      ? 'the egress proxy cannot be reached'
      : proxyAnswerOf(error) === proxyWantsCredentials
        ? 'the egress proxy asks for credentials'
        : shortages.get(codeOf(error));
  if (why === undefined) return undefined;
  return new Failure('unavailable', `Nothing can be delivered at the moment: ${why}.`, {
    retryAfterSeconds: 5,
    cause: error,
  });
}

const proxyWantsCredentials = 407;
const shortages: ReadonlyMap<string, string> = new Map([
  ['EMFILE', 'too many files are open'],
  ['ENFILE', 'too many files are open'],
  ['EADDRNOTAVAIL', 'no local port is free'],
  ['ENOBUFS', 'there is no room for another connection'],
  ['ENOMEM', 'there is no room for another connection'],
]);

/** The status with which the proxy refused a connection. Only the message of the HTTP client's error has this status. */
const proxyAnswerOf = ({ message }: Error): number | undefined => {
  const [, status] = /^Proxy response \((\d{3})\)/.exec(message) ?? [];
  return status === undefined ? undefined : Number(status);
};

function describeBreak(error: unknown): string {
  if (!(error instanceof Error)) return 'the connection failed';
  if (error instanceof AnswerTooLong || error instanceof TimedOut) return error.message;
  if (error.name === 'TargetRefused') return `refused: ${error.message}`;
  const proxyAnswer = proxyAnswerOf(error);
  if (proxyAnswer !== undefined) return `no connection (the egress proxy answered ${proxyAnswer})`;
  const code = codeOf(error);
  // `bad response` is the message of the HTTP client for a 100 Continue that the request did not ask for.
  if (error.message === 'bad response') return 'the answer began with 100 Continue, not asked for';
  const words = breaks.get(code);
  if (words !== undefined) return words;
  if (code.startsWith('ERR_TLS') || code.startsWith('CERT_') || code.includes('CERT')) {
    return `TLS: the certificate is not valid (${code})`;
  }
  if (code.startsWith('ERR_SSL') || code === 'EPROTO') return `TLS: no secure connection (${code})`;
  if (error.name === 'HTTPParserError' || code === 'ERR_ASSERTION') return 'the answer is not HTTP';
  return code === '' ? 'the connection failed' : `the connection failed (${code})`;
}

/** Whether an error means that the receiver has closed the connection, or no longer knows the connection. */
export const isHangUp = (error: Error): boolean =>
  error.message === 'other side closed' || ['ECONNRESET', 'EPIPE'].includes(codeOf(error));

const codeOf = (error: Error): string =>
  'code' in error && typeof error.code === 'string' ? error.code : '';

const closedEarly = 'the connection was closed before the answer was complete';
const breaks: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'connection refused'],
  ['ECONNRESET', closedEarly],
  ['EPIPE', closedEarly],
  ['UND_ERR_SOCKET', closedEarly],
  ['UND_ERR_CONNECT_TIMEOUT', timedOut],
  ['UND_ERR_HEADERS_TIMEOUT', timedOut],
  ['UND_ERR_BODY_TIMEOUT', timedOut],
  ['ETIMEDOUT', timedOut],
  ['EHOSTUNREACH', 'the host cannot be reached'],
  ['ENETUNREACH', 'the host cannot be reached'],
  ['UND_ERR_HEADERS_OVERFLOW', 'the answer’s headers are too large'],
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'the answer’s length is not what it says'],
]);

interface FailedAnswer {
  /** The delay that the receiver asks for with `Retry-After`; 0 without that header. */
  retryAfterMs: number;
  body: string;
}

/** How many bytes of a body are collected: more than are shown, because a value to mask may begin at the last shown byte. */
const bytesMax = limits.responseBodyBytesMax + escapedBytesMax * limits.webhookHeaderBytesMax;

/** The start of a body with the next chunk, which is copied, because the HTTP client reuses its memory. */
export const withChunk = (start: Buffer, chunk: Uint8Array): Buffer =>
  start.length < bytesMax
    ? Buffer.concat([start, chunk], Math.min(start.length + chunk.length, bytesMax))
    : start;

/** The first 1 KiB of a body as text, without half a character at its end. The values of `headers` are masked. */
export function textOfBody(bytes: Uint8Array, headers: readonly string[] = []): string {
  const values = headers.filter((_, index) => index % 2 === 1);
  const masked = maskValues(Buffer.from(bytes.subarray(0, bytesMax)), values);
  const first = masked.subarray(0, limits.responseBodyBytesMax);
  return new TextDecoder().decode(first, { stream: true });
}

const seconds = /^\d+$/;
const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** The delay that a 429 or 503 asks for with `Retry-After`, in seconds or as a time; at most five minutes. */
export function retryAfterMsOf(status: number, header: unknown, nowMs: number): number {
  if ((status !== 429 && status !== 503) || typeof header !== 'string') return 0;
  const text = header.trim();
  const asked = seconds.test(text)
    ? Number(text) * 1_000
    : httpDate.test(text)
      ? Date.parse(text) - nowMs
      : 0;
  return Number.isNaN(asked) ? 0 : Math.min(Math.max(asked, 0), limits.retryAfterMsMax);
}
