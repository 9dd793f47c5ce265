// What the gateway checks of a request, in this order, before it asks the service:
//
//   path, method    server.ts, routing.ts                                  400, 404, 405
//   token, scope    authorization.ts                                       401, 403
//   query           below                                                  400
//   content type    body-headers.ts                                        415
//   size            body-headers.ts, and uploads.ts while the body comes   413
//
// The service checks the rest: JSON, envelope, count, items.
import { Failure, type Route } from '@integration-sync/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { authorize } from './authorization.ts';
import { checkBodyHeaders } from './body-headers.ts';
import { timed } from './exchange.ts';
import { rawQuery } from './forward.ts';
import type { VerifyToken } from './tokens.ts';
import type { CollectBody } from './uploads.ts';

export interface ChecksOptions {
  verify: VerifyToken;
  collect: CollectBody;
  bytesMax: () => number;
}

/** As hooks of Fastify, which calls them in this order. */
export function requestChecks(route: Route, { verify, collect, bytesMax }: ChecksOptions) {
  const takesBody = route.body !== undefined;
  return {
    async onRequest(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const { exchange } = request;
      exchange.caller = await timed(exchange, 'token', () => authorize(request, reply, verify, route.scope));
      checkQuery(request);
      if (takesBody) checkBodyHeaders(request, reply, bytesMax());
      // The route takes no body, so that Fastify must not refuse the request for its content type.
      else delete request.raw.headers['content-type'];
    },
    async preValidation(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      if (!takesBody) return;
      request.body = await timed(request.exchange, 'body', () => collect(request, reply, bytesMax()));
    },
  };
}

function checkQuery(request: FastifyRequest): void {
  try {
    decodeURIComponent(rawQuery(request));
  } catch (cause) {
    throw new Failure('invalid_request', 'The query cannot be decoded: it must be percent-encoded UTF-8.', {
      cause,
    });
  }
}
