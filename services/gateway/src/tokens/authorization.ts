// Whether a caller may use a route: the token in the request's header, and the scope that the route requires. The
// gateway checks both before it reads a byte of the body, so that a caller without a token learns nothing about the
// body.
import type { IncomingMessage } from 'node:http';
import { Failure, scopesOf, type Route } from '@integration-sync/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { TokenRefused, type Caller } from './token-claims.ts';
import type { VerifyToken } from './tokens.ts';

/** Throws the failure with which the gateway answers; the reply then has the challenge (`WWW-Authenticate`). */
export async function authorize(
  request: FastifyRequest,
  reply: FastifyReply,
  verify: VerifyToken,
  route: Route,
): Promise<Caller> {
  const caller = await authenticate(request, reply, verify);
  if (scopesOf(route).some((scope) => caller.scopes.has(scope))) return caller;
  const { scope } = route;
  reply.header('www-authenticate', `Bearer error="insufficient_scope", scope="${scope}"`);
  throw new Failure('insufficient_scope', `The access token does not carry the scope ${scope}.`);
}

/** After a longer wait, for a whole body or for events, the gateway goes on only if the caller's credential is still valid. */
const authorizedForMs = 1_000;

/** Authorizes a request again after a wait: meanwhile the token may have ended, or the key belong to another integration. */
export async function authorizeAgain(
  request: FastifyRequest,
  reply: FastifyReply,
  { verify, route, waitedMs }: { verify: VerifyToken; route: Route; waitedMs: number },
): Promise<void> {
  if (waitedMs < authorizedForMs) return;
  const { integration } = await authorize(request, reply, (token) => verify(token, 'again'), route);
  if (integration === request.exchange.caller?.integration) return;
  throw refused(request, reply, new TokenRefused('the key belongs to another integration now'));
}

/** Verifies the token, and checks no scope. Throws `unauthorized` as `authorize` does. */
export async function authenticate(
  request: FastifyRequest,
  reply: FastifyReply,
  verify: VerifyToken,
): Promise<Caller> {
  try {
    const token = readToken(request.raw);
    if (token !== undefined) return await verify(token);
  } catch (error) {
    if (!(error instanceof TokenRefused)) throw error;
    throw refused(request, reply, error);
  }
  request.exchange.refusal = 'no token';
  reply.header('www-authenticate', 'Bearer');
  throw new Failure('unauthorized', 'Send an access token in the header "Authorization: Bearer <token>".');
}

function refused(request: FastifyRequest, reply: FastifyReply, cause: TokenRefused): Failure {
  request.exchange.refusal = cause.message;
  reply.header('www-authenticate', 'Bearer error="invalid_token"');
  return new Failure('unauthorized', 'The access token is not valid.', { cause });
}

/** The token of the Authorization header, never of the query. Undefined if the caller sent no credentials. */
function readToken(raw: IncomingMessage): string | undefined {
  const given = raw.headersDistinct['authorization'] ?? [];
  const [authorization = ''] = given;
  if (authorization === '') return undefined;
  if (given.length > 1) throw new TokenRefused(`${given.length} Authorization headers`);
  const token = /^bearer +(?<token>[\w~+/.=-]+)$/i.exec(authorization)?.groups?.['token'];
  if (token === undefined)
    throw new TokenRefused('the Authorization header is not of the form Bearer <token>');
  return token;
}
