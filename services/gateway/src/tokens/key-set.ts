// The public keys of the issuer of tokens, fetched from where the settings say and from nowhere else: the gateway
// never reads what a token says about keys (`jku`, `jwk`, `x5u`), only its `kid` and `alg`.
//
//   the set                      a known `kid`                      an unknown `kid`
//   is under five minutes old    is good                            fetches it again, for keys are rotated
//   is older                     fetches it again, and is good      the same
//                                if that fails
//   is over a day old, or none   fetches it, and is refused if that fails
//
// No caller can make the gateway flood the issuer: the gateway asks it twice a second at most, and a request that comes
// in between waits. When the issuer turns out to have no key for a `kid`, the gateway refuses the next unknown one for
// 5 s without asking; when it could not fetch old keys again, they serve for as long without asking.
//
// A set that holds an RSA key that is too short to be trusted serves on without that key.
//
// Where the address is not a setting, each fetch first finds it by the issuer's name (discovery.ts): an issuer that moves
// its keys is followed, and its metadata can be away for as long as its keys can.
import { KeyObject } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Failure } from '@integration-sync/contracts';
import type { Log } from '@integration-sync/runtime/log';
import { createRemoteJWKSet, customFetch, errors, type FetchImplementation } from 'jose';
import { TokenRefused } from './claims.ts';
import { findKeysAddress } from './discovery.ts';

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
/** With the metadata that say where the keys are: up to three answers. */
const discoveryTimeoutMs = 5_000;
const freshMs = 5 * 60_000;
const usableMs = 24 * 3_600_000;
const refetchEveryMs = 500;
const restMs = 5_000;
/** RFC 7518 §3.3 requires it. */
const rsaBitsMin = 2_048;

/** Finds the key that a token's header names, as PEM. */
export type FindKey = (header: Readonly<Record<string, unknown>>) => Promise<string>;

/** Where the keys are, or whose keys they are. */
export type KeySetOptions = ({ url: string } | { issuer: string }) & {
  log: Log;
  /** Milliseconds since any fixed moment. */
  clock?: () => number;
};

export function openKeySet({ log, clock = () => performance.now(), ...keysOf }: KeySetOptions): FindKey {
  const keySet = createRemoteJWKSet(new URL('url' in keysOf ? keysOf.url : keysOf.issuer), {
    timeoutDuration: 'url' in keysOf ? fetchTimeoutMs : discoveryTimeoutMs,
    [customFetch]: 'url' in keysOf ? fetchBounded : discovering(keysOf.issuer),
    // `openFetching` decides when to fetch again: it can tell a failed fetch from an unknown key.
    cacheMaxAge: Infinity,
    cooldownDuration: Infinity,
  });
  const { fetchKeys, refresh } = openFetching(keySet, log, clock);
  const select = openSelection(keySet, log);
  let missedAtMs = -Infinity;
  // The gateway logs at its start what is wrong with the issuer. The first token makes it fetch the keys again.
  if ('issuer' in keysOf) void refresh().catch(() => undefined);

  return async ({ alg, kid }) => {
    if (typeof alg !== 'string' || !asymmetricAlgorithms.some((allowed) => allowed === alg)) {
      throw new TokenRefused(`algorithm ${JSON.stringify(alg)} is not allowed`);
    }
    if (kid !== undefined && typeof kid !== 'string') throw new TokenRefused('kid is not text');
    await refresh();
    try {
      return await select(alg, kid);
    } catch (error) {
      if (!isUnknown(error) || clock() - missedAtMs < restMs) throw unusable(error);
    }
    await fetchKeys();
    try {
      return await select(alg, kid);
    } catch (error) {
      if (isUnknown(error)) missedAtMs = clock();
      throw unusable(error);
    }
  };
}

const discovering =
  (issuer: string): FetchImplementation =>
  async (_address, options) =>
    fetchBounded(await findKeysAddress(issuer, fetchBounded, options), options);

type KeySet = ReturnType<typeof createRemoteJWKSet>;

function openFetching(keySet: KeySet, log: Log, clock: () => number) {
  let triedAtMs = -Infinity;
  let fetchedAtMs = -Infinity;
  let fetching: Promise<void> | undefined;

  /** Now, or half a second after the last time. Throws `Failure` where the issuer does not give the set. */
  const fetchOnce = async (): Promise<void> => {
    const waitMs = triedAtMs + refetchEveryMs - clock();
    if (waitMs > 0) await wait(waitMs);
    triedAtMs = clock();
    try {
      await keySet.reload();
      fetchedAtMs = clock();
    } catch (cause) {
      log.warn({ err: cause }, 'the keys of access tokens cannot be fetched');
      throw new Failure('unavailable', 'Access tokens cannot be checked at the moment; try again shortly.', {
        retryAfterSeconds: 5,
        cause,
      });
    }
  };
  /** Requests that need the keys at the same time wait for the same answer. */
  const fetchKeys = (): Promise<void> =>
    (fetching ??= fetchOnce().finally(() => {
      fetching = undefined;
    }));

  return {
    fetchKeys,
    /** Fetches the set if it is old, and throws only if it is too old to serve on. */
    refresh: async (): Promise<void> => {
      const ageMs = clock() - fetchedAtMs;
      if (ageMs < freshMs) return;
      const isUsable = ageMs < usableMs;
      if (isUsable && clock() - triedAtMs < restMs) return;
      try {
        await fetchKeys();
      } catch (error) {
        if (!isUsable) throw error;
      }
    },
  };
}

/** Finds a key in the set as it is, as PEM. */
function openSelection(keySet: KeySet, log: Log): (alg: string, kid: string | undefined) => Promise<string> {
  const pems = new WeakMap<CryptoKey, string>();
  const tooShort = new WeakSet<CryptoKey>();

  return async (alg, kid) => {
    const key = await keySet({ alg, ...(kid === undefined ? {} : { kid }) });
    const known = pems.get(key);
    if (known !== undefined) return known;
    const made = KeyObject.from(key);
    const bits = made.asymmetricKeyDetails?.modulusLength ?? Infinity;
    if (bits < rsaBitsMin) {
      if (!tooShort.has(key))
        log.warn({ kid, bits, bitsMin: rsaBitsMin }, 'an RSA key of the issuer is too short and is refused');
      tooShort.add(key);
      throw new TokenRefused(`its RSA key has ${bits} bits instead of at least ${rsaBitsMin}`);
    }
    const pem = made.export({ type: 'spki', format: 'pem' });
    pems.set(key, pem);
    return pem;
  };
}

const isUnknown = (error: unknown): boolean => error instanceof errors.JWKSNoMatchingKey;

const unusable = (cause: unknown): TokenRefused =>
  cause instanceof TokenRefused ? cause : new TokenRefused('no key of the issuer serves for it', { cause });

// Reading what an issuer publishes: no more than a bounded part of its answer, so that no issuer can fill the memory of
// this process.

/** Some hundred keys with their certificates. */
const answerBytesMax = 1024 * 1024;

export const fetchBounded: FetchImplementation = async (url, options) => {
  const response = await fetch(url, options);
  if (response.body === null || response.status !== 200) {
    await response.body?.cancel();
    return response;
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // The error leaves the loop, which ends the connection.
  for await (const chunk of response.body) {
    bytes += chunk.length;
    if (bytes > answerBytesMax) throw new Error(`the issuer's answer is larger than ${answerBytesMax} bytes`);
    chunks.push(chunk);
  }
  return new Response(Buffer.concat(chunks));
};
