// The error answers of the token endpoint: RFC 6749 §5.2.
import type { ErrorCode } from '@integration-sync/contracts';

export const oauthErrors = [
  'invalid_request',
  'invalid_client',
  'unsupported_grant_type',
  'invalid_scope',
] as const;

export class OAuthRefusal extends Error {
  override readonly name = 'OAuthRefusal';
  readonly error: (typeof oauthErrors)[number];
  /** The error code in the gateway's log and metrics. The status of this code is the status of the answer. */
  readonly code: ErrorCode;
  readonly headers: Readonly<Record<string, string>>;

  /** A caller reads the description, which says what to do and quotes nothing of the request. */
  constructor(
    error: OAuthRefusal['error'],
    description: string,
    code: ErrorCode = 'invalid_request',
    headers: OAuthRefusal['headers'] = {},
  ) {
    super(description);
    this.error = error;
    this.code = code;
    this.headers = headers;
  }
}

export const invalidRequest = (description: string): OAuthRefusal =>
  new OAuthRefusal('invalid_request', description);

/** Every 401 carries a challenge (RFC 9110 §15.5.2). */
export const invalidClient = (description: string): OAuthRefusal =>
  new OAuthRefusal('invalid_client', description, 'unauthorized', {
    'www-authenticate': 'Basic realm="integration-sync", charset="UTF-8"',
  });
