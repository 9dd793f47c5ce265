// `GET /token` answers the integration, the scopes and the end of the caller's token or key. A key does not show these facts, and
// an access token may have them in claims of any name. After a 403, a caller can read its scopes by `GET /token`.
import type { FastifyInstance } from 'fastify';
import { checkQuery } from './server/request-checks.ts';
import { authenticate } from './tokens/authorization.ts';
import type { Caller } from './tokens/token-claims.ts';
import type { VerifyToken } from './tokens/tokens.ts';

export function addTokenPage(app: FastifyInstance, verify: VerifyToken): void {
  app.get('/token', {
    async onRequest(request, reply) {
      request.exchange.caller = await authenticate(request, reply, verify);
      checkQuery(request);
    },
    handler: async ({ exchange, headers }) =>
      exchange.caller && describe(exchange.caller, headers.authorization ?? ''),
  });
}

function describe({ integration, scopes, keyEndsAtMs = Infinity }: Caller, authorization: string) {
  // `authenticate` has accepted the text: it is an access token with three parts and a number as `exp`, or a key with one part.
  const [, payload] = authorization.split('.');
  // A token ends with the key that fetched the token, whose end may have changed since.
  const endsAtMs = payload === undefined ? keyEndsAtMs : Math.min(expiryOf(payload), keyEndsAtMs);
  return {
    integrationId: integration,
    scopes: [...scopes],
    expiresAt: Number.isFinite(endsAtMs) ? new Date(endsAtMs).toISOString() : null,
  };
}

function expiryOf(payload: string): number {
  const { exp }: { exp?: unknown } = JSON.parse(Buffer.from(payload, 'base64url').toString());
  return Number(exp) * 1_000;
}
