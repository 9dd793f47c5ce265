// How an attempt ended, in the words of the attempt log. What the receiver's operator can act on is said; what
// only we could act on is not.
import type { Verdict } from './schedule.ts';

export interface Outcome {
  verdict: Verdict;
  /** Null where no answer came. */
  responseStatus: number | null;
  /** Null after a success. */
  error: string | null;
}

export const timedOut = 'timeout: no complete answer within 10 s';

/** `broken` says why the answer could not be read to its end, if so. */
export function outcomeOfAnswer(responseStatus: number, broken?: unknown): Outcome {
  if (responseStatus === 410)
    return { verdict: 'gone', responseStatus, error: 'the receiver answered 410 Gone' };
  if (responseStatus >= 300 && responseStatus < 400) {
    return { verdict: 'failed', responseStatus, error: `redirects are not followed (${responseStatus})` };
  }
  if (responseStatus < 200 || responseStatus > 299) {
    return { verdict: 'failed', responseStatus, error: `the receiver answered ${responseStatus}` };
  }
  if (broken !== undefined) return { verdict: 'failed', responseStatus, error: describeBreak(broken) };
  return { verdict: 'succeeded', responseStatus, error: null };
}

export const outcomeOfSilence = (error: unknown): Outcome => ({
  verdict: 'failed',
  responseStatus: null,
  error: describeBreak(error),
});

export class DeadlinePassed extends Error {
  override readonly name = 'DeadlinePassed';
}

export function describeBreak(error: unknown): string {
  if (error instanceof DeadlinePassed) return timedOut;
  if (!(error instanceof Error)) return 'the connection failed';
  if (error.name === 'TargetRefused') return `refused: ${error.message}`;
  const code = codeOf(error);
  // The HTTP client's own words for it.
  if (error.message === 'bad response') return 'the answer began with 100 Continue, which nobody asked for';
  const words = breaks.get(code);
  if (words !== undefined) return words;
  if (code.startsWith('ERR_TLS') || code.startsWith('CERT_') || code.includes('CERT')) {
    return `TLS: the certificate is not valid (${code})`;
  }
  if (code.startsWith('ERR_SSL') || code === 'EPROTO') return `TLS: no secure connection (${code})`;
  if (error.name === 'HTTPParserError' || code === 'ERR_ASSERTION') return 'the answer is not HTTP';
  return code === '' ? 'the connection failed' : `the connection failed (${code})`;
}

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
