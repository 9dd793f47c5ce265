// Access tokens for tests: valid ones, and the parts from which a test builds invalid ones.
import { createHmac, createSign, type KeyObject } from 'node:crypto';

export const authSecret = 'a-secret-of-the-tests-with-32-bytes-or-more';

export const everyScope = ['suppliers', 'products', 'batches', 'webhooks']
  .flatMap((noun) => [`integration:${noun}:read`, `integration:${noun}:write`])
  .concat('integration:suppliers:erase', 'integration:syncs:read', 'integration:events:read')
  .concat('integration:expectations:read', 'integration:expectations:write')
  .join(' ');

type Claims = Record<string, unknown>;

export const nowSeconds = (): number => Math.floor(Date.now() / 1_000);

/** The claims of a valid token, with changes; a claim that is given as undefined is left out of the token. */
export function goodClaims(claims: Claims = {}): Claims {
  const iat = nowSeconds();
  return { integration_id: 'acme', scope: everyScope, iat, exp: iat + 3_600, ...claims };
}

export const token = (claims: Claims = {}): string => signHs256(goodClaims(claims));

/** The header of a valid token: every scope of the integration "acme", unless `claims` say otherwise. */
export const bearer = (claims: Claims = {}): Record<string, string> => ({
  authorization: `Bearer ${token(claims)}`,
});

export const part = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

export function signHmac(
  hash: string,
  header: Record<string, unknown>,
  claims: unknown,
  secret: string | KeyObject = authSecret,
): string {
  const input = `${part(header)}.${part(claims)}`;
  return `${input}.${createHmac(hash, secret).update(input).digest('base64url')}`;
}

export const signHs256 = (
  claims: unknown,
  header: Record<string, unknown> = {},
  secret = authSecret,
): string => signHmac('sha256', { alg: 'HS256', typ: 'JWT', ...header }, claims, secret);

/** Signs a JWT by RS256 with an RSA key, or by ES256 with a key on P-256. */
export function signAsymmetric(key: KeyObject, header: Record<string, unknown>, claims: unknown): string {
  const input = `${part(header)}.${part(claims)}`;
  const signature = createSign('sha256').update(input).sign({ key, dsaEncoding: 'ieee-p1363' }, 'base64url');
  return `${input}.${signature}`;
}
