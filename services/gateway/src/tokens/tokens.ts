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

/** Asked again for each request: an issued token is good no longer than the secret that fetched it. */
type ReadCaller = () => Caller;

export async function openTokens(
  app: FastifyInstance,
  config: GatewayConfig,
  { now, log, readIssued }: TokensOptions,
): Promise<VerifyToken> {
  const verifySignature = await openSignatures(app, config, log);
  const callerClaims = openCallerClaims(config);
  const memory = openTokenMemory<ReadCaller>();

  const readerOf = (payload: Signed['payload']): ReadCaller => {
    if (readIssued(payload) === undefined) {
      const caller = readCaller(payload, callerClaims);
      return () => caller;
    }
    return () => readIssued(payload) ?? readCaller(payload, callerClaims);
  };
  const verify = async (token: string): Promise<Caller> => {
    const { header, payload } = await verifySignature(token);
    const nowMs = now();
    checkKind(header, payload);
    const expiresMs = checkTimes(payload, nowMs);
    const read = readerOf(payload);
    memory.remember(token, read, { nowMs, expiresMs });
    return read();
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

export interface TokenMemory<T> {
  find: (token: string, nowMs: number) => T | undefined;
  remember: (token: string, value: T, moment: { nowMs: number; expiresMs: number }) => void;
  /** How many tokens it holds, expired ones among them. */
  readonly size: number;
}

interface Remembered<T> {
  value: T;
  untilMs: number;
}

type Generation<T> = Map<string, Remembered<T>>;

export function openTokenMemory<T>(charactersMax = generationCharactersMax): TokenMemory<T> {
  let young: Generation<T> = new Map();
  let old: Generation<T> = new Map();
  let characters = 0;
  let begunAtMs = -Infinity;

  const begin = (nowMs: number): void => {
    old = young;
    young = new Map();
    characters = 0;
    begunAtMs = nowMs;
  };

  return {
    find(token, nowMs) {
      const remembered = young.get(token) ?? old.get(token);
      return remembered !== undefined && nowMs < remembered.untilMs ? remembered.value : undefined;
    },
    remember(token, value, { nowMs, expiresMs }) {
      const cost = token.length + entryCharacters;
      if (characters + cost > charactersMax || nowMs - begunAtMs > rememberedMs) begin(nowMs);
      young.set(token, { value, untilMs: Math.min(expiresMs, nowMs + rememberedMs) });
      characters += cost;
    },
    get size() {
      return young.size + old.size;
    },
  };
}
