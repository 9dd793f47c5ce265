// Access tokens. signatures.ts checks who signed a token, and for whom; claims.ts checks what it says; and this file
// remembers for a minute at most that it was good.
import type { Log } from '@integration-sync/runtime/log';
import type { FastifyInstance } from 'fastify';
import type { GatewayConfig } from '../config.ts';
import { checkKind, checkTimes, openCallerClaims, readCaller, type Caller } from './claims.ts';
import { openSignatures, type Signed } from './signatures.ts';

/**
 * Decides about what a caller sent as its bearer token. Throws `TokenRefused` for a bad one, and `Failure` where the
 * gateway cannot tell because the keys are away.
 */
export type VerifyToken = (token: string) => Caller | Promise<Caller>;

export interface TokensOptions {
  now: () => number;
  log: Log;
  /** The caller of a token that the token endpoint has issued, undefined for other tokens. Throws `TokenRefused`. */
  readIssued: (claims: Signed['payload']) => Caller | undefined;
}

export async function openTokens(
  app: FastifyInstance,
  config: GatewayConfig,
  { now, log, readIssued }: TokensOptions,
): Promise<VerifyToken> {
  const verifySignature = await openSignatures(app, config, log);
  const callerClaims = openCallerClaims(config);
  const memory = openTokenMemory<() => Caller>();

  const verify = async (token: string): Promise<Caller> => {
    const { header, payload } = await verifySignature(token);
    const nowMs = now();
    checkKind(header, payload);
    const expiresMs = checkTimes(payload, nowMs);
    const caller = readIssued(payload) ?? readCaller(payload, callerClaims);
    // Asked again for each request: an issued token is good no longer than the secret that fetched it.
    memory.remember(token, () => readIssued(payload) ?? caller, { nowMs, expiresMs });
    return caller;
  };
  return (token) => memory.find(token, now())?.() ?? verify(token);
}

// The access tokens that the gateway found good, with what it found, so that a token that comes again costs one look-up.
// A token is good for a minute at most without being verified again, and never beyond its `exp`.
//
// There are two generations. A new token comes into the young one; when that is full, or a minute old, it becomes the old
// one, and the tokens of the old one are forgotten all at once.

/** A minute: a key that its issuer takes out does not serve for longer by being remembered. */
const rememberedMs = 60_000;
/** Of the tokens' characters, and what an entry costs beside them. */
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
      return remembered !== undefined && nowMs < remembered.untilMs ? remembered.value : undefined;
    },
    remember(token: string, value: T, { nowMs, expiresMs }: { nowMs: number; expiresMs: number }): void {
      const cost = token.length + entryCharacters;
      if (characters + cost > charactersMax || nowMs - begunAtMs > rememberedMs) {
        [young, old, characters, begunAtMs] = [new Map(), young, 0, nowMs];
      }
      young.set(token, { value, untilMs: Math.min(expiresMs, nowMs + rememberedMs) });
      characters += cost;
    },
    /** How many tokens it holds, expired ones among them. */
    get size(): number {
      return young.size + old.size;
    },
  };
}
