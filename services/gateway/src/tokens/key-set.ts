// The public keys of the issuer of tokens, fetched only from the address in the settings. Of a token's header the gateway
// reads `kid` and `alg`, and never `jku`, `jwk` or `x5u`.
//
//   the key set                  a known `kid`                      an unknown `kid`
//   is under five minutes old    is good                            fetches the set again, for keys are rotated
//   is older                     fetches the set again, and is      fetches the set again
//                                good even if the fetch fails
//   is over a day old, or none   fetches the set, and is refused if the fetch fails
//
// No caller can make the gateway flood the issuer: the gateway fetches twice a second at most, and a request in between waits.
// After a fetch without the wanted `kid`, the gateway refuses unknown `kid`s for 5 s without a fetch. After a failed fetch, the
// gateway uses the old keys for 5 s without a fetch.
//
// `look` fetches the set at the start, once a minute and every 15 s after a failure: `isUp` says whether the issuer serves its
// keys, before a caller notices.
//
// If AUTH_JWKS_URL is not set, each fetch first finds the address by the issuer's name (issuer-discovery.ts), so that an issuer
// may move its keys. The old keys are used also while the metadata cannot be fetched.
import { KeyObject } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Failure } from '@integration-sync/contracts';
import type { Log } from '@integration-sync/runtime/log';
import { createRemoteJWKSet, customFetch, errors, type FetchImplementation } from 'jose';
import { TokenRefused } from './token-claims.ts';
import { findKeysAddress } from './issuer-discovery.ts';

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
/** The time-out of a fetch with discovery, which waits for up to three answers: two of metadata, and the keys. */
const discoveryTimeoutMs = 5_000;
/** How long a caller waits for a fetch while old keys can be used. Discovery by an issuer that hangs takes longer. */
const patienceMs = 2_500;
const freshMs = 5 * 60_000;
const usableMs = 24 * 3_600_000;
const refetchEveryMs = 500;
const restMs = 5_000;
const checkedMs = 60_000;
const failedMs = 15_000;
/** The shortest RSA key that is accepted: RFC 7518 §3.3 requires 2048 bits or more. */
const rsaBitsMin = 2_048;

/** Finds the key that a token's header names, as PEM. */
export type FindKey = (header: Readonly<Record<string, unknown>>) => Promise<string>;

/** The address of the keys, or the issuer that has the keys. */
export type KeySetOptions = ({ url: string } | { issuer: string }) & {
  log: Log;
  /** A monotonic clock, in milliseconds since any moment. */
  clock?: () => number;
};

export function openKeySet({ log, clock = () => performance.now(), ...keysOf }: KeySetOptions) {
  const keySet = createRemoteJWKSet(new URL('url' in keysOf ? keysOf.url : keysOf.issuer), {
    timeoutDuration: 'url' in keysOf ? fetchTimeoutMs : discoveryTimeoutMs,
    [customFetch]: 'url' in keysOf ? fetchBounded : discovering(keysOf.issuer),
    // jose itself fetches no keys again: `openFetching` does, because it can tell a failed fetch from an unknown key.
    cacheMaxAge: Infinity,
    cooldownDuration: Infinity,
  });
  const { fetchKeys, refresh, look, isUp } = openFetching(keySet, log, clock);
  const select = openSelection(keySet, log);
  let missedAtMs = -Infinity;
  const findKey: FindKey = async ({ alg, kid }) => {
    if (typeof alg !== 'string' || !asymmetricAlgorithms.some((allowed) => allowed === alg)) {
      throw new TokenRefused(`algorithm ${JSON.stringify(alg)} is not allowed`);
    }
    if (kid !== undefined && typeof kid !== 'string') throw new TokenRefused('kid is not text');
    await refresh();
    let key = await select(alg, kid);
    if (key === undefined && clock() - missedAtMs >= restMs) {
      await fetchKeys();
      key = await select(alg, kid);
      if (key === undefined) missedAtMs = clock();
    }
    return key ?? unusable();
  };
  return { findKey, isUp, look };
}

const discovering =
  (issuer: string): FetchImplementation =>
  async (_address, options) =>
    fetchBounded(await findKeysAddress(issuer, fetchBounded, options), options);

type RemoteKeySet = ReturnType<typeof createRemoteJWKSet>;

function openFetching(keySet: RemoteKeySet, log: Log, clock: () => number) {
  let triedAtMs = -Infinity;
  let failedAtMs = -Infinity;
  let fetchedAtMs = -Infinity;
  let fetching: Promise<void> | undefined;

  /** Fetches now, or half a second after the last fetch. Throws `Failure` if the issuer gives no set. */
  const fetchOnce = async (): Promise<void> => {
    const waitMs = triedAtMs + refetchEveryMs - clock();
    if (waitMs > 0) await wait(waitMs);
    triedAtMs = clock();
    try {
      await keySet.reload();
      fetchedAtMs = clock();
    } catch (cause) {
      failedAtMs = clock();
      log.warn(
        { setting: 'AUTH_ISSUER, AUTH_JWKS_URL', err: cause },
        'the keys of access tokens cannot be fetched',
      );
      throw new Failure('unavailable', 'Access tokens cannot be checked at the moment; try again shortly.', {
        retryAfterSeconds: 5,
        cause,
      });
    }
  };
  const fetchKeys = (): Promise<void> => (fetching ??= fetchOnce().finally(() => (fetching = undefined)));

  /** Whether the last fetch succeeded; undefined before the first fetch has ended. */
  const isUp = (): boolean | undefined => (fetchedAtMs === failedAtMs ? undefined : fetchedAtMs > failedAtMs);

  return {
    fetchKeys,
    isUp,
    look: async (): Promise<void> => {
      if (clock() - triedAtMs >= (isUp() === false ? failedMs : checkedMs)) await fetchKeys();
    },
    /** Fetches the set of keys again if it is old. A failed fetch throws only if the set is too old for use. */
    refresh: async (): Promise<void> => {
      const ageMs = clock() - fetchedAtMs;
      if (ageMs < freshMs) return;
      const isUsable = ageMs < usableMs;
      if (isUsable && clock() - failedAtMs < restMs) return;
      try {
        const patience = isUsable ? [wait(patienceMs, undefined, { ref: false })] : [];
        await Promise.race([fetchKeys(), ...patience]);
      } catch (error) {
        if (!isUsable) throw error;
      }
    },
  };
}

/** Finds a key in the set without a fetch, as PEM; undefined if the set does not have the key. */
function openSelection(keySet: RemoteKeySet, log: Log) {
  const pems = new WeakMap<CryptoKey, string>();
  const tooShort = new WeakSet<CryptoKey>();

  return async (alg: string, kid: string | undefined): Promise<string | undefined> => {
    const key = await keySet({ alg, ...(kid === undefined ? {} : { kid }) }).catch((error: unknown) =>
      error instanceof errors.JWKSNoMatchingKey ? undefined : unusable(error),
    );
    if (key === undefined) return undefined;
    const known = pems.get(key);
    if (known !== undefined) return known;
    const made = KeyObject.from(key);
    const bits = made.asymmetricKeyDetails?.modulusLength ?? Infinity;
    if (bits < rsaBitsMin) {
      if (!tooShort.has(key))
        log.warn({ kid, bits, bitsMin: rsaBitsMin }, 'an RSA key of the issuer is too short and is refused');
      tooShort.add(key);
      throw new TokenRefused(`the RSA key has ${bits} bits instead of at least ${rsaBitsMin}`);
    }
    const pem = made.export({ type: 'spki', format: 'pem' });
    pems.set(key, pem);
    return pem;
  };
}

function unusable(cause?: unknown): never {
  throw new TokenRefused('no key of the issuer can verify the token', { cause });
}

// Reads an answer of an issuer up to a bound, so that no issuer can fill the memory of this process.

/** The longest answer of an issuer that is read: enough for some hundred keys with their certificates. */
const answerBytesMax = 1024 * 1024;

export const fetchBounded: FetchImplementation = async (url, options) => {
  const response = await fetch(url, options);
  if (response.body === null || response.status !== 200) {
    await response.body?.cancel();
    return response;
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // An error that ends the loop over the answer's chunks also closes the connection to the issuer.
  for await (const chunk of response.body) {
    bytes += chunk.length;
    if (bytes > answerBytesMax) throw new Error(`the issuer's answer is larger than ${answerBytesMax} bytes`);
    chunks.push(chunk);
  }
  return new Response(Buffer.concat(chunks));
};
