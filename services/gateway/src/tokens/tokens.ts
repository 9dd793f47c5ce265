// Verifies access tokens: signatures.ts checks signature, issuer and audience of a token, and token-claims.ts the other claims.
// This file remembers a good token for a minute at most.
import type { FastifyInstance } from 'fastify';
import type { AuthSettings } from './auth-settings.ts';
import { checkKind, checkTimes, openCallerClaims, readCaller, type Caller } from './token-claims.ts';
import type { FindKey } from './key-set.ts';
import { openSignatures, type Signed } from './signatures.ts';

/**
 * Verifies a token; `again` if the token of the same request was verified before. Throws `TokenRefused` for a bad token, and
 * `Failure` if the keys of the issuer cannot be fetched.
 */
export type VerifyToken = (token: string, again?: 'again') => Caller | Promise<Caller>;

export interface TokensOptions {
  now: () => number;
  /** Finds the keys of the issuer; undefined if the gateway has a shared secret, or accepts no access tokens. */
  findKey: FindKey | undefined;
  /** The caller of an issued token; undefined for another token. Throws `TokenRefused` if it is no longer valid. */
  readIssued: (claims: Signed['payload']) => Caller | undefined;
}

export async function openTokens(
  app: FastifyInstance,
  config: AuthSettings,
  { now, findKey, readIssued }: TokensOptions,
): Promise<VerifyToken> {
  const verifySignature = await openSignatures(app, config, findKey);
  const callerClaims = openCallerClaims(config);
  const memory = openTokenMemory<() => Caller>();

  const verify = async (token: string): Promise<Caller> => {
    const { header, payload } = await verifySignature(token);
    const nowMs = now();
    checkKind(header, payload);
    const expiresMs = checkTimes(payload, nowMs);
    const caller = readIssued(payload) ?? readCaller(payload, callerClaims);
    // Each request calls `readIssued` again: an issued token is good no longer than the secret that fetched the token.
    memory.remember(token, () => readIssued(payload) ?? caller, { nowMs, expiresMs });
    return caller;
  };
  return (token) => memory.find(token, now())?.() ?? verify(token);
}

// Remembers good access tokens with their values, so that a token that comes again costs one look-up. A token is good for a
// minute at most without being verified again, and never beyond its `exp`.
//
// New tokens go into the young generation. A young generation that is full or a minute old becomes the old generation, and
// the tokens of the former old generation are forgotten together.

/** After an issuer withdraws a key, remembered tokens of the key are good for a minute at most. */
const rememberedMs = 60_000;
/** The bound on the characters of the remembered tokens. Each token counts `entryCharacters` more than its length. */
const generationCharactersMax = 4 * 1024 * 1024;
const entryCharacters = 1_024;

export function openTokenMemory<T>(charactersMax = generationCharactersMax) {
  let young = new Map<string, { value: T; untilMs: number }>();
  let old: typeof young = new Map();
  let characters = 0;
  let begunAtMs = -Infinity;

  return {
    find(token: string, nowMs: number): T | undefined {
      const remembered = young.get(token) ?? old.get(token);
      const leftMs = (remembered?.untilMs ?? nowMs) - nowMs;
      // A remembered token with more than a minute left is verified again, because the clock was set back.
      return leftMs > 0 && leftMs <= rememberedMs ? remembered?.value : undefined;
    },
    remember(token: string, value: T, { nowMs, expiresMs }: { nowMs: number; expiresMs: number }): void {
      const cost = token.length + entryCharacters;
      if (characters + cost > charactersMax || nowMs - begunAtMs > rememberedMs) {
        [young, old, characters, begunAtMs] = [new Map(), young, 0, nowMs];
      }
      young.set(token, { value, untilMs: Math.min(expiresMs, nowMs + rememberedMs) });
      characters += cost;
    },
    /** The number of remembered tokens, expired tokens included. */
    get size(): number {
      return young.size + old.size;
    },
  };
}
