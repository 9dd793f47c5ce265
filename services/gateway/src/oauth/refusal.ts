// The error answers of the token endpoint: RFC 6749 §5.2.
import type { ErrorCode } from '@integration-sync/contracts';

export type OAuthError = 'invalid_request' | 'invalid_client' | 'unsupported_grant_type' | 'invalid_scope';

interface Answer {
  status: number;
  /** The error code in the gateway's log and metrics. */
  code: ErrorCode;
  headers?: Readonly<Record<string, string>>;
}

export class OAuthRefusal extends Error {
  override readonly name = 'OAuthRefusal';
  readonly error: OAuthError;
  readonly answer: Answer;

  /** A caller reads the description, which says what to do and quotes nothing of the request. */
  constructor(
    error: OAuthError,
    description: string,
    answer: Answer = { status: 400, code: 'invalid_request' },
  ) {
    super(description);
    this.error = error;
    this.answer = answer;
  }
}

export const invalidRequest = (description: string): OAuthRefusal =>
  new OAuthRefusal('invalid_request', description);

/** Every 401 carries a challenge (RFC 9110 §15.5.2). */
export const invalidClient = (description: string): OAuthRefusal =>
  new OAuthRefusal('invalid_client', description, {
    status: 401,
    code: 'unauthorized',
    headers: { 'www-authenticate': 'Basic realm="integration-sync", charset="UTF-8"' },
  });

export const tooManyFailures = (seconds: number): OAuthRefusal =>
  new OAuthRefusal('invalid_client', `Too many wrong secrets for this client; try again in ${seconds} s.`, {
    status: 429,
    code: 'rate_limited',
    headers: { 'retry-after': String(seconds) },
  });
