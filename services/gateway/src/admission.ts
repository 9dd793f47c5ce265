// Who may pass: the token in the request's header, and the scope that the route asks for. It runs before a
// byte of the body is read, so that nobody without a token learns anything about it.
import type { IncomingMessage } from 'node:http';
import { Failure, type Scope } from '@integration-sync/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { TokenRefused, type Caller } from './claims.ts';
import { timesSent } from './sent.ts';
import type { VerifyToken } from './tokens.ts';

/** Throws the failure that the caller is answered with; its challenge is already on the reply. */
export async function admit(
  request: FastifyRequest,
  reply: FastifyReply,
  verify: VerifyToken,
  scope: Scope,
): Promise<Caller> {
  const caller = await authenticate(request, reply, verify);
  if (!caller.scopes.has(scope)) {
    reply.header('www-authenticate', `Bearer error="insufficient_scope", scope="${scope}"`);
    throw new Failure('insufficient_scope', `The access token does not carry the scope ${scope}.`);
  }
  return caller;
}

async function authenticate(
  request: FastifyRequest,
  reply: FastifyReply,
  verify: VerifyToken,
): Promise<Caller> {
  try {
    const token = readToken(request.raw);
    if (token !== undefined) return await verify(token);
  } catch (error) {
    if (!(error instanceof TokenRefused)) throw error;
    request.exchange.refusal = error.message;
    reply.header('www-authenticate', 'Bearer error="invalid_token"');
    throw new Failure('unauthorized', 'The access token is not valid.', { cause: error });
  }
  request.exchange.refusal = 'no token';
  reply.header('www-authenticate', 'Bearer');
  throw new Failure('unauthorized', 'Send an access token in the header "Authorization: Bearer <token>".');
}

/** The token, or undefined where no credentials were sent. Only this header is looked at, never the query. */
function readToken(raw: IncomingMessage): string | undefined {
  const { authorization } = raw.headers;
  if (authorization === undefined || authorization === '') return undefined;
  const sent = timesSent(raw, 'authorization');
  if (sent > 1) throw new TokenRefused(`${sent} Authorization headers`);
  const token = /^bearer +(?<token>[\w~+/.=-]+)$/i.exec(authorization)?.groups?.['token'];
  if (token === undefined)
    throw new TokenRefused('the Authorization header is not of the form Bearer <token>');
  return token;
}
