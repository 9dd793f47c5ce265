// What a token with a good signature must say to be accepted. Pure: no keys, no clock.
//
//   exp             a number, and not yet reached; no leeway, so that a token is never good for longer than it says
//   iat, nbf        absent, or a number that is at most 60 s ahead of the clock
//   exp − iat       at most 24 h; without iat, exp is at most 24 h from now
//   integration     1 to 64 letters, digits, _ or -
//   scope           absent, words separated by spaces, or an array of words
//
// caller-claims.ts says in which claims the integration and the scope stand.
import { integrationPattern } from '@integration-sync/contracts';
import type { ReadClaim } from './claim-names.ts';

/** The integration that a request comes from, and what it may do. */
export interface Caller {
  integration: string;
  scopes: ReadonlySet<string>;
  /** Of a caller with a key, or with a token that a key has fetched: the client, and the name of its key. */
  client?: string;
  key?: string | undefined;
  /** Infinity of a key without an end. */
  keyEndsAtMs?: number;
}

/** Why a token is not good. The words are for the log; the caller does not learn which check failed. */
export class TokenRefused extends Error {
  override readonly name = 'TokenRefused';
}

/** Where a token says who its caller is. */
export interface CallerClaims {
  integration: ReadClaim;
  scope: ReadClaim;
}

const lifetimeSecondsMax = 24 * 60 * 60;
const leewaySeconds = 60;
const integrationId = new RegExp(integrationPattern);

export function readCaller(claims: Readonly<Record<string, unknown>>, read: CallerClaims): Caller {
  const integration = read.integration(claims);
  if (typeof integration !== 'string' || !integrationId.test(integration)) {
    throw new TokenRefused('its integration is missing or malformed');
  }
  return { integration, scopes: new Set(readScopes(read.scope(claims))) };
}

function readScopes(scope: unknown): string[] {
  if (scope === undefined) return [];
  if (typeof scope === 'string') return scope.split(' ').filter((word) => word !== '');
  if (Array.isArray(scope) && scope.every((word) => typeof word === 'string')) return scope;
  throw new TokenRefused('scope is neither text nor an array of texts');
}

/** Returns when the token expires, in epoch milliseconds. */
export function checkTimes(claims: Readonly<Record<string, unknown>>, nowMs: number): number {
  const now = nowMs / 1_000;
  const exp = readTime(claims, 'exp');
  const iat = readTime(claims, 'iat');
  const nbf = readTime(claims, 'nbf');
  if (exp === undefined) throw new TokenRefused('exp is missing');
  if (exp <= now) throw new TokenRefused('expired');
  if (iat !== undefined && iat > now + leewaySeconds) throw new TokenRefused('issued in the future');
  if (nbf !== undefined && nbf > now + leewaySeconds) throw new TokenRefused('not valid yet');
  if (exp - (iat ?? now) > lifetimeSecondsMax) throw new TokenRefused('lives for more than 24 h');
  return exp * 1_000;
}

function readTime(claims: Readonly<Record<string, unknown>>, name: string): number | undefined {
  const value = claims[name];
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new TokenRefused(`${name} is not a number`);
}
