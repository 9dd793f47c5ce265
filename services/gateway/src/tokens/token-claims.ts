// What a token with a good signature must say to be accepted. Pure: no keys, no clock.
//
//   exp             a number, and not yet reached; no leeway, so that a token is never good after its `exp`
//   iat, nbf        absent, or a number that is at most 60 s ahead of the clock
//   exp − iat       at most 24 h; without iat, exp is at most 24 h from now
//   integration     1 to 64 letters, digits, _ or -
//   scope           absent, words separated by spaces, or an array of words
import { integrationPattern } from '@integration-sync/contracts';

type Claims = Readonly<Record<string, unknown>>;

/** The integration that a request comes from, and the scopes of its token. */
export interface Caller {
  integration: string;
  scopes: ReadonlySet<string>;
  /** The client and the name of the client's key; absent if the caller has neither a key nor a token fetched with a key. */
  client?: string;
  key?: string | undefined;
  /** The end of the key in epoch milliseconds; Infinity for a key without an end. */
  keyEndsAtMs?: number;
}

/** The error that says, for the log, why a token is refused. The caller does not learn which check failed. */
export class TokenRefused extends Error {
  override readonly name = 'TokenRefused';
}

const lifetimeSecondsMax = 24 * 60 * 60;
const leewaySeconds = 60;
const integrationId = new RegExp(integrationPattern);

export function readCaller(claims: Claims, read: ReturnType<typeof openCallerClaims>): Caller {
  const integration = read.integration(claims);
  if (typeof integration !== 'string' || !integrationId.test(integration)) {
    throw new TokenRefused('the integration is missing or malformed');
  }
  return { integration, scopes: new Set(readScopes(read.scope(claims))) };
}

function readScopes(scope: unknown): string[] {
  if (scope === undefined) return [];
  if (typeof scope === 'string') return scope.split(' ').filter((word) => word !== '');
  if (Array.isArray(scope) && scope.every((word) => typeof word === 'string')) return scope;
  throw new TokenRefused('scope is neither text nor an array of texts');
}

/** Checks `exp`, `iat` and `nbf` of a token. Returns when the token expires, in epoch milliseconds. */
export function checkTimes(claims: Claims, nowMs: number): number {
  const now = nowMs / 1_000;
  const exp = readTime(claims, 'exp');
  const iat = readTime(claims, 'iat');
  const nbf = readTime(claims, 'nbf');
  if (exp === undefined) throw new TokenRefused('exp is missing');
  if (exp <= now) throw new TokenRefused('the token has expired');
  if (iat !== undefined && iat > now + leewaySeconds)
    throw new TokenRefused('the token is issued in the future');
  if (nbf !== undefined && nbf > now + leewaySeconds) throw new TokenRefused('the token is not valid yet');
  if (exp - (iat ?? now) > lifetimeSecondsMax) throw new TokenRefused('the token lives for more than 24 h');
  return exp * 1_000;
}

function readTime(claims: Claims, name: string): number | undefined {
  const value = claims[name];
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new TokenRefused(`${name} is not a number`);
}

// The integration and the scopes of a token are in claims whose names are settings. If AUTH_INTEGRATIONS lists
// clients of the issuer, the integration is that of the client that fetched the token.

/** The claims that may name the client of a token; the first present one counts. Okta uses `cid`, version 1 of Entra `appid`. */
const clientClaims = ['azp', 'client_id', 'cid', 'appid', 'sub'] as const;

/** The pattern of a client id in AUTH_INTEGRATIONS, whose separator is the comma. White space or a semicolon is a mistake. */
const clientId = /^[^\s;]+$/;

export function openCallerClaims({
  AUTH_INTEGRATION_CLAIM = 'integration_id',
  AUTH_SCOPE_CLAIM,
  AUTH_INTEGRATIONS = '',
}: {
  AUTH_INTEGRATION_CLAIM?: string;
  AUTH_SCOPE_CLAIM: string;
  AUTH_INTEGRATIONS?: string;
}) {
  const integrations = parseIntegrations(AUTH_INTEGRATIONS);
  return {
    integration:
      integrations === undefined ? claimReader(AUTH_INTEGRATION_CLAIM) : integrationReader(integrations),
    scope: claimReader(AUTH_SCOPE_CLAIM),
  };
}

/** Integrations by the ids of clients; undefined if the text is not `<client id>=<integration>,…`. */
export function parseIntegrations(text: string): ReadonlyMap<string, string> | undefined {
  const integrations = new Map<string, string>();
  for (const entry of text.split(',')) {
    const at = entry.lastIndexOf('=');
    const [client, integration] = [entry.slice(0, Math.max(at, 0)).trim(), entry.slice(at + 1).trim()];
    if (!clientId.test(client) || !integrationId.test(integration) || integrations.has(client))
      return undefined;
    integrations.set(client, integration);
  }
  return integrations;
}

function integrationReader(integrations: ReadonlyMap<string, string>): ReadClaim {
  return (claims) => {
    const name = clientClaims.find((claim) => ownOf(claims, claim) !== undefined);
    const client = name === undefined ? undefined : claims[name];
    const integration = typeof client === 'string' ? integrations.get(client) : undefined;
    if (integration !== undefined) return integration;
    const shown = JSON.stringify(client ?? null).slice(0, 100);
    throw new TokenRefused(`AUTH_INTEGRATIONS does not list the client (${name ?? 'no claim'}: ${shown})`);
  };
}

// A setting names a claim literally; if it begins with `/`, it is a JSON pointer (RFC 6901) into the claims.
//
//   integration_id                 the claim integration_id
//   https://example.com/tenant     the claim of exactly this name
//   /resource_access/sync/roles    the roles of sync in the claim resource_access

export type ReadClaim = (claims: Claims) => unknown;

/** A JSON pointer. In it, `~0` stands for a tilde and `~1` for a slash; any other `~` is wrong. */
const pointerPattern = /^(\/([^/~]|~[01])*)+$/;

export const isClaimName = (name: string): boolean => !name.startsWith('/') || pointerPattern.test(name);

export function claimReader(name: string): ReadClaim {
  if (!name.startsWith('/')) return (claims) => ownOf(claims, name);
  const steps = name.slice(1).split('/').map(unescape);
  return (claims) => steps.reduce<unknown>(ownOf, claims);
}

const unescape = (step: string): string => step.replaceAll('~1', '/').replaceAll('~0', '~');

/** Reads own properties only: the prototype of an object must not add claims to a token. */
export function ownOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  // Of an array only entries are read: `length` is an own property too, but no entry.
  if (Array.isArray(value)) return /^(0|[1-9]\d*)$/.test(name) ? value[Number(name)] : undefined;
  return Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
}

// Whether a signed token is an access token. An issuer signs other tokens with the same keys, and such a token may name
// the same audience.
//
//   typ of the header       absent, JWT or at+jwt (RFC 9068)
//   typ, token_use          absent, or not the name of another kind (Keycloak; Cognito)
//   nonce, at_hash, c_hash  absent: they make an ID token (OpenID Connect Core)
//   events                  absent: this claim makes a logout or another security event (RFC 8417)

const accessTypes: ReadonlySet<string> = new Set(['jwt', 'at+jwt']);
const otherKinds: ReadonlySet<string> = new Set(['id', 'refresh', 'offline', 'logout']);
const kindClaims = ['typ', 'token_use'] as const;
const otherClaims = ['nonce', 'at_hash', 'c_hash', 'events'] as const;

export function checkKind(header: Claims, claims: Claims): void {
  const { typ } = header;
  if (typ !== undefined && !(typeof typ === 'string' && accessTypes.has(mediaTypeOf(typ)))) {
    throw new TokenRefused('the typ of the header is not that of an access token');
  }
  for (const name of kindClaims) {
    const kind = ownOf(claims, name);
    if (typeof kind === 'string' && otherKinds.has(kind.toLowerCase())) {
      throw new TokenRefused(`no access token: ${name} names another kind of token`);
    }
  }
  const other = otherClaims.find((name) => ownOf(claims, name) !== undefined);
  if (other !== undefined) throw new TokenRefused(`no access token: the token has the claim ${other}`);
}

/** By RFC 7515 §4.1.9 `typ` may leave out `application/`, and the case of letters does not matter. */
const mediaTypeOf = (typ: string): string => typ.toLowerCase().replace(/^application\//, '');
