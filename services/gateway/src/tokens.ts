// Access tokens: who may come in. The signature is checked by @fastify/jwt with the algorithms pinned to one
// family, what the token says by claims.ts. A verdict is remembered for a minute at most and never beyond `exp`.
import jwt from '@fastify/jwt';
import { Failure } from '@integration-sync/contracts';
import type { Log } from '@integration-sync/runtime/log';
import type { FastifyInstance } from 'fastify';
import { checkTimes, readCaller, TokenRefused, type Caller } from './claims.ts';
import type { GatewayConfig } from './config.ts';
import { asymmetricAlgorithms, openKeySet } from './keys.ts';

/** Throws `TokenRefused` for a bad token, and `Failure` when it cannot be told. */
export type VerifyToken = (token: string) => Promise<Caller>;

const rememberedMs = 60_000;
const rememberedCount = 1_000;

export async function openTokens(
  app: FastifyInstance,
  config: GatewayConfig,
  { now, log }: { now: () => number; log: Log },
): Promise<VerifyToken> {
  await app.register(jwt, {
    ...keysOf(config, log),
    // Tokens that were let in are kept; refused ones are not, or a key set that was away would stay away.
    verify: { ...rulesOf(config), cache: rememberedCount, cacheTTL: rememberedMs, errorCacheTTL: -1 },
  });
  const callers = new WeakMap<object, Caller>();

  return async (token) => {
    const claims = await verifySignature(app, token);
    checkTimes(claims, now());
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

/** `nbf` is left to claims.ts, which knows its leeway; a claim that is only checked if present is required. */
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
    // With keys that are fetched it is a promise, with a shared secret it is not.
    return await app.jwt.verify<Claims | Promise<Claims>>(token);
  } catch (error) {
    // What finding the key threw comes wrapped.
    const cause = error instanceof Error && 'originalError' in error ? error.originalError : error;
    if (cause instanceof Failure || cause instanceof TokenRefused) throw cause;
    throw new TokenRefused(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}
