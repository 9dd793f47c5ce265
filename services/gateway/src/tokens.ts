// Access tokens. @fastify/jwt checks the signature, with the algorithms pinned to one family, and claims.ts checks what
// the token says. A verdict is cached for a minute at most and never beyond `exp`.
import jwt from '@fastify/jwt';
import { Failure } from '@integration-sync/contracts';
import type { Log } from '@integration-sync/runtime/log';
import type { FastifyInstance } from 'fastify';
import { checkTimes, readCaller, TokenRefused, type Caller } from './claims.ts';
import type { GatewayConfig } from './config.ts';
import { asymmetricAlgorithms, openKeySet } from './key-set.ts';

/** Throws `TokenRefused` for a bad token, and `Failure` where the gateway cannot tell because the keys are away. */
export type VerifyToken = (token: string) => Promise<Caller>;

export interface TokensOptions {
  now: () => number;
  log: Log;
  /** The caller of a token that the token endpoint has issued, undefined for other tokens. Throws `TokenRefused`. */
  readIssued?: ((claims: Readonly<Record<string, unknown>>) => Caller | undefined) | undefined;
}

const cachedMs = 60_000;
const cachedCount = 1_000;

export async function openTokens(
  app: FastifyInstance,
  config: GatewayConfig,
  { now, log, readIssued }: TokensOptions,
): Promise<VerifyToken> {
  await app.register(jwt, {
    ...keysOf(config, log),
    // Good tokens are cached. Refused ones are not, or a token would stay refused after the key set is back.
    verify: { ...rulesOf(config), cache: cachedCount, cacheTTL: cachedMs, errorCacheTTL: -1 },
  });
  const callers = new WeakMap<object, Caller>();

  return async (token) => {
    const claims = await verifySignature(app, token);
    checkTimes(claims, now());
    const issuedTo = readIssued?.(claims);
    if (issuedTo !== undefined) return issuedTo;
    const known = callers.get(claims);
    if (known !== undefined) return known;
    const caller = readCaller(claims);
    callers.set(claims, caller);
    return caller;
  };
}

function keysOf(config: GatewayConfig, log: Log) {
  if (config.AUTH_JWKS_URL === undefined) {
    return { secret: { public: Buffer.from(config.AUTH_JWT_SECRET ?? '') } };
  }
  const findKey = openKeySet({ url: config.AUTH_JWKS_URL, log });
  return {
    secret: { public: (token: { header: Readonly<Record<string, unknown>> }) => findKey(token.header) },
  };
}

/** claims.ts checks `nbf`, with its leeway. A claim that the library checks only if present is required here. */
function rulesOf({ AUTH_JWKS_URL, AUTH_ISSUER, AUTH_AUDIENCE }: GatewayConfig) {
  return {
    algorithms: AUTH_JWKS_URL === undefined ? ['HS256' as const] : [...asymmetricAlgorithms],
    requiredClaims: [
      'exp',
      'integration_id',
      ...(AUTH_ISSUER === undefined ? [] : ['iss']),
      ...(AUTH_AUDIENCE === undefined ? [] : ['aud']),
    ],
    ...(AUTH_ISSUER === undefined ? {} : { allowedIss: AUTH_ISSUER }),
    ...(AUTH_AUDIENCE === undefined ? {} : { allowedAud: AUTH_AUDIENCE }),
    ignoreNotBefore: true,
  };
}

type Claims = Readonly<Record<string, unknown>>;

async function verifySignature(app: FastifyInstance, token: string): Promise<Claims> {
  try {
    // It is a promise with fetched keys, and none with a shared secret.
    return await app.jwt.verify<Claims | Promise<Claims>>(token);
  } catch (error) {
    // The library wraps what `FindKey` throws.
    const cause = error instanceof Error && 'originalError' in error ? error.originalError : error;
    if (cause instanceof Failure || cause instanceof TokenRefused) throw cause;
    throw new TokenRefused(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}
