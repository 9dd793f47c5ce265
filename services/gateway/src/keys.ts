// The public keys of whoever issues the tokens, fetched from the address that was configured and from nowhere
// else: what a token says about keys (`jku`, `jwk`, `x5u`) is never looked at, only its `kid` and `alg`.
//
// A set is kept for five minutes. An unknown `kid` fetches it again, for keys are rotated, but at most twice
// a second, whether that succeeds or not, so that nobody can make us flood the issuer: who comes in between waits.
import { KeyObject } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Failure } from '@integration-sync/contracts';
import { createRemoteJWKSet, errors } from 'jose';
import { TokenRefused } from './claims.ts';

export const asymmetricAlgorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const;

const fetchTimeoutMs = 2_000;
const keptMs = 5 * 60_000;
const refetchEveryMs = 500;

/** Finds the key that a token's header names, as PEM. */
export type FindKey = (header: Readonly<Record<string, unknown>>) => Promise<string>;

export function openKeySet(url: string): FindKey {
  const keySet = createRemoteJWKSet(new URL(url), {
    timeoutDuration: fetchTimeoutMs,
    cacheMaxAge: keptMs,
    // Fetching again is decided here, where a failed fetch can be told from an unknown key.
    cooldownDuration: Infinity,
  });
  const pems = new WeakMap<CryptoKey, string>();
  let triedAtMs = -Infinity;
  let fetching: Promise<void> | undefined;

  const fetchOnce = async (): Promise<void> => {
    const waitMs = triedAtMs + refetchEveryMs - performance.now();
    if (waitMs > 0) await wait(waitMs);
    triedAtMs = performance.now();
    try {
      await keySet.reload();
    } catch (cause) {
      throw new Failure('unavailable', 'Access tokens cannot be checked at the moment; try again shortly.', {
        retryAfterSeconds: 5,
        cause,
      });
    }
  };
  /** Whoever needs the keys at the same time waits for the same answer. */
  const fetchKeys = (): Promise<void> =>
    (fetching ??= fetchOnce().finally(() => {
      fetching = undefined;
    }));

  const select = async (alg: string, kid: string | undefined): Promise<string> => {
    const key = await keySet({ alg, ...(kid === undefined ? {} : { kid }) });
    const pem = pems.get(key) ?? KeyObject.from(key).export({ type: 'spki', format: 'pem' });
    pems.set(key, pem);
    return pem;
  };

  return async ({ alg, kid }) => {
    if (typeof alg !== 'string' || !asymmetricAlgorithms.some((allowed) => allowed === alg)) {
      throw new TokenRefused(`algorithm ${JSON.stringify(alg)} is not allowed`);
    }
    if (kid !== undefined && typeof kid !== 'string') throw new TokenRefused('kid is not text');
    if (!keySet.fresh) await fetchKeys();
    try {
      return await select(alg, kid);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw unusable(error);
    }
    await fetchKeys();
    return select(alg, kid).catch((error: unknown) => {
      throw unusable(error);
    });
  };
}

const unusable = (cause: unknown): TokenRefused =>
  new TokenRefused('no key of the issuer serves for it', { cause });
