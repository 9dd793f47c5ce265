// Whether a token is signed by whom the gateway trusts, for its issuer and its audience. @fastify/jwt checks it, with the
// algorithms pinned to one family; it takes one secret, so that two secrets are two of it.
import jwt from '@fastify/jwt';
import { Failure } from '@integration-sync/contracts';
import type { Log } from '@integration-sync/runtime/log';
import type { FastifyInstance } from 'fastify';
import { signingOf } from './auth-settings.ts';
import { TokenRefused } from './claims.ts';
import type { GatewayConfig } from '../config.ts';
import { asymmetricAlgorithms, openKeySet } from './key-set.ts';

/** What a token says of itself and of its caller. */
export interface Signed {
  header: Readonly<Record<string, unknown>>;
  payload: Readonly<Record<string, unknown>>;
}

/** Rejects with `TokenRefused` for a bad token, and with `Failure` where the keys are away. */
export type VerifySignature = (token: string) => Promise<Signed>;

export async function openSignatures(
  app: FastifyInstance,
  config: GatewayConfig,
  log: Log,
): Promise<VerifySignature> {
  const verifiers: Verify[] = [];
  for (const keys of keysOf(config, log)) {
    // A scope of its own, as an application has one `jwt`.
    await app.register(async (scope) => {
      await scope.register(jwt, { secret: { public: keys }, verify: rulesOf(config, keys) });
      verifiers.push((token) => scope.jwt.verify<Signed | Promise<Signed>>(token));
    });
  }
  return (token) => verifyByAny(verifiers, token);
}

/** It is a promise with fetched keys, and none with a shared secret. */
type Verify = (token: string) => Signed | Promise<Signed>;

type Keys = Buffer | ((token: { header: Readonly<Record<string, unknown>> }) => Promise<string>);

function keysOf(config: GatewayConfig, log: Log): Keys[] {
  const signing = signingOf(config);
  if (signing === undefined) return [];
  if ('secrets' in signing) return signing.secrets.map((secret) => Buffer.from(secret));
  const findKey = openKeySet({ ...signing, log });
  return [({ header }) => findKey(header)];
}

/**
 * claims.ts checks `nbf`, with its leeway. A claim that the library checks only if present is required here. The library
 * remembers no verdicts: tokens.ts does.
 */
function rulesOf({ AUTH_ISSUER, AUTH_AUDIENCE }: GatewayConfig, keys: Keys) {
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
  throw new TokenRefused('this gateway takes keys alone');
}

const isOfAnotherKey = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'FAST_JWT_INVALID_SIGNATURE';

/** The library wraps what `FindKey` throws. */
function refusalOf(error: unknown): Error {
  const cause = error instanceof Error && 'originalError' in error ? error.originalError : error;
  if (cause instanceof Failure || cause instanceof TokenRefused) return cause;
  return new TokenRefused(cause instanceof Error ? cause.message : String(cause), { cause });
}
