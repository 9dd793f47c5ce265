// `GET /token`: what the caller's token or key is good for. A key does not show that, and an access token may have it in claims
// of any name; a caller that is answered 403 finds here which scopes there are.
import type { FastifyInstance } from 'fastify';
import { authenticate } from './tokens/authorization.ts';
import type { Caller } from './tokens/claims.ts';
import type { VerifyToken } from './tokens/tokens.ts';

export function addTokenPage(app: FastifyInstance, verify: VerifyToken): void {
  app.get('/token', {
    async onRequest(request, reply) {
      request.exchange.caller = await authenticate(request, reply, verify);
    },
    handler: async ({ exchange, headers }) =>
      exchange.caller && describe(exchange.caller, headers.authorization ?? ''),
  });
}

function describe({ integration, scopes, keyEndsAtMs }: Caller, authorization: string) {
  // An access token has been found good: it has three parts, and `exp` is a number. A key has one part.
  const [, payload] = authorization.split('.');
  const endsAtMs = payload === undefined ? keyEndsAtMs : expiryOf(payload);
  return {
    integrationId: integration,
    scopes: [...scopes],
    // Null of a key without an end.
    expiresAt: Number.isFinite(endsAtMs) ? new Date(Number(endsAtMs)).toISOString() : null,
  };
}

function expiryOf(payload: string): number {
  const { exp }: { exp?: unknown } = JSON.parse(Buffer.from(payload, 'base64url').toString());
  return Number(exp) * 1_000;
}
