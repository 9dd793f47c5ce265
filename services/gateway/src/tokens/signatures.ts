// Verifies the signature, the issuer and the audience of a token by @fastify/jwt, with the algorithms pinned to one family.
// The plugin takes one secret, so each of two secrets has an instance of the plugin.
import jwt from '@fastify/jwt';
import { Failure } from '@integration-sync/contracts';
import type { FastifyInstance } from 'fastify';
import { secretsOf, type AuthSettings } from './auth-settings.ts';
import { TokenRefused } from './token-claims.ts';
import { asymmetricAlgorithms, type FindKey } from './key-set.ts';

/** The header and the claims of a token with a good signature. */
export interface Signed {
  header: Readonly<Record<string, unknown>>;
  payload: Readonly<Record<string, unknown>>;
}

/** The function rejects with `TokenRefused` for a bad token, and with `Failure` if the keys cannot be fetched. */
export async function openSignatures(
  app: FastifyInstance,
  config: AuthSettings,
  findKey: FindKey | undefined,
): Promise<(token: string) => Promise<Signed>> {
  const verifiers: Verify[] = [];
  for (const keys of keysOf(config, findKey)) {
    // Each instance gets a Fastify scope of its own, because a scope has only one `jwt`.
    await app.register(async (scope) => {
      await scope.register(jwt, { secret: { public: keys }, verify: rulesOf(config, keys) });
      verifiers.push((token) => scope.jwt.verify<Signed | Promise<Signed>>(token));
    });
  }
  return (token) => verifyByAny(verifiers, token);
}

/** Verifies a token. Returns a promise if the keys are fetched, or a value if the key is a shared secret. */
type Verify = (token: string) => Signed | Promise<Signed>;

type Keys = Buffer | ((token: { header: Readonly<Record<string, unknown>> }) => Promise<string>);

function keysOf({ AUTH_JWT_SECRET: secrets }: AuthSettings, findKey: FindKey | undefined): Keys[] {
  if (secrets !== undefined) return secretsOf(secrets).map((secret) => Buffer.from(secret));
  return findKey === undefined ? [] : [({ header }) => findKey(header)];
}

/**
 * token-claims.ts checks `nbf`, with a leeway. `requiredClaims` has the claims that @fastify/jwt checks only if present. tokens.ts
 * remembers good tokens, so that @fastify/jwt needs no cache.
 */
function rulesOf({ AUTH_ISSUER, AUTH_AUDIENCE }: AuthSettings, keys: Keys) {
  return {
    algorithms: keys instanceof Buffer ? ['HS256' as const] : [...asymmetricAlgorithms],
    complete: true,
    requiredClaims: [
      'exp',
      ...(AUTH_ISSUER === undefined ? [] : ['iss']),
      ...(AUTH_AUDIENCE === undefined ? [] : ['aud']),
    ],
    ...(AUTH_ISSUER === undefined ? {} : { allowedIss: AUTH_ISSUER }),
    ...(AUTH_AUDIENCE === undefined ? {} : { allowedAud: AUTH_AUDIENCE }),
    ignoreNotBefore: true,
  };
}

async function verifyByAny(verifiers: readonly Verify[], token: string): Promise<Signed> {
  for (const [at, verify] of verifiers.entries()) {
    try {
      return await verify(token);
    } catch (error) {
      if (at === verifiers.length - 1 || !isOfAnotherKey(error)) throw refusalOf(error);
    }
  }
  throw new TokenRefused('this gateway accepts API keys only');
}

const isOfAnotherKey = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'FAST_JWT_INVALID_SIGNATURE';

/** The error to throw for a token that was not verified. The library wraps an error of `FindKey`, which is unwrapped here. */
function refusalOf(error: unknown): Error {
  const cause = error instanceof Error && 'originalError' in error ? error.originalError : error;
  if (cause instanceof Failure || cause instanceof TokenRefused) return cause;
  return new TokenRefused(cause instanceof Error ? cause.message : String(cause), { cause });
}
