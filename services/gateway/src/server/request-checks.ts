// The checks of the gateway before it forwards a request to the service, in this order:
//
//   path, method    server.ts, routing.ts                                  400, 404, 405
//   token, scope    authorization.ts                                       401, 403
//   query           below; the service refuses unknown names               400
//   content type    body-headers.ts                                        415
//   size            body-headers.ts, and uploads.ts while the body comes   413
//
// The rate limit (429, rate-limit.ts) counts a request after the checks of its headers, before its body is read. The
// service checks JSON, envelope, count and items.
import { Failure, refuseIfAny, unknownParameters, type Route } from '@integration-sync/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { checkBodyHeaders } from '../body/body-headers.ts';
import type { CollectBody } from '../body/uploads.ts';
import { authorize, authorizeAgain } from '../tokens/authorization.ts';
import type { VerifyToken } from '../tokens/tokens.ts';
import { timed } from './exchange.ts';

export interface ChecksOptions {
  verify: VerifyToken;
  collect: CollectBody;
  bytesMax: () => number;
}

/** The checks as hooks of Fastify, which calls the hooks in this order. */
export function requestChecks(route: Route, { verify, collect, bytesMax }: ChecksOptions) {
  const takesBody = route.body !== undefined;
  const parameters = new Set(route.query?.map(({ name }) => name));
  return {
    async onRequest(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const { exchange } = request;
      exchange.caller = await timed(exchange, 'token', () => authorize(request, reply, verify, route));
      checkQuery(request);
      if (prefersStrict(request.headers['prefer'])) beStrict(request, reply, route, parameters);
      if (takesBody) checkBodyHeaders(request, reply, bytesMax());
      // The route takes no body, so that Fastify must not refuse the request for its content type.
      else delete request.raw.headers['content-type'];
    },
    async preValidation(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      if (!takesBody) return;
      const begunAt = performance.now();
      request.body = await timed(request.exchange, 'body', () => collect(request, reply, bytesMax()));
      // While a body comes, the caller's credential may end.
      await authorizeAgain(request, reply, { verify, route, waitedMs: performance.now() - begunAt });
    },
  };
}

/**
 * Finds unknown query parameters. The service refuses the request for them and for its own errors together: wrong values of
 * the query, and the body. Where a route takes no query and no body, the gateway refuses.
 */
function beStrict(
  request: FastifyRequest,
  reply: FastifyReply,
  { body }: Route,
  known: ReadonlySet<string>,
): void {
  const { exchange } = request;
  exchange.isStrict = true;
  reply.header('preference-applied', 'handling=strict');
  exchange.queryErrors = unknownParameters(new URLSearchParams(rawQuery(request)).keys(), known);
  if (body === undefined && known.size === 0) refuseIfAny(exchange.queryErrors);
}

/** The query string after the first question mark, still encoded, because the service decodes it. */
export const rawQuery = ({ raw: { url = '' } }: Pick<FastifyRequest, 'raw'>): string =>
  url.replace(/^[^?]*\??/, '');

export function checkQuery(request: FastifyRequest): void {
  try {
    decodeURIComponent(rawQuery(request));
  } catch (cause) {
    throw new Failure('invalid_request', 'The query cannot be decoded: it must be percent-encoded UTF-8.', {
      cause,
    });
  }
}

// The header `Prefer` (RFC 7240). The gateway knows the preference `handling=strict`, and ignores others.

/** A preference ends at a comma, but not within quotes, where a backslash escapes the next character. */
const preferences = /(?:[^,"]|"(?:\\.|[^"\\])*(?:"|\\?$))+/gs;
const handlingOf = /^handling(?:[ \t]*=[ \t]*(?:"(?<quoted>\w*)"|(?<bare>\w*)))?$/i;

/** If the header `Prefer` has several `handling` preferences, the first one counts. */
export function prefersStrict(prefer: string | string[] | undefined): boolean {
  if (typeof prefer !== 'string') return false;
  for (const [preference] of prefer.matchAll(preferences)) {
    // Parameters after a semicolon are ignored. The text is trimmed, because many spaces would take the pattern quadratic time.
    const handling = handlingOf.exec(preference.split(';', 1).join().trim());
    if (handling === null) continue;
    const { quoted, bare } = handling.groups ?? {};
    return (quoted ?? bare)?.toLowerCase() === 'strict';
  }
  return false;
}
