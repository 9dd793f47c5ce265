// Access tokens. signatures.ts checks who signed a token, and for whom; token-kinds.ts and claims.ts check what it says;
// and token-memory.ts remembers for a minute at most that it was good.
import type { Log } from '@integration-sync/runtime/log';
import type { FastifyInstance } from 'fastify';
import { openCallerClaims } from './caller-claims.ts';
import { checkTimes, readCaller, type Caller } from './claims.ts';
import type { GatewayConfig } from '../config.ts';
import { openSignatures, type Signed } from './signatures.ts';
import { checkKind } from './token-kinds.ts';
import { openTokenMemory } from './token-memory.ts';

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
