// From the table of routes to the server: one Fastify route per row, and 405 for every other method of a path.
import { METHODS } from 'node:http';
import { Failure, routes, type Route } from '@integration-sync/contracts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { authorize } from './authorization.ts';
import type { BodyBudgets } from './body-budgets.ts';
import { checkBodyHeaders } from './body-headers.ts';
import { timed } from './exchange.ts';
import { forward, rawQuery, type ForwardOptions } from './forward.ts';
import { methodNotAllowed } from './problems.ts';
import type { VerifyToken } from './tokens.ts';
import type { CollectBody } from './uploads.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** As the route table writes it. */
    path?: string;
  }
}

export interface RoutingOptions extends Omit<ForwardOptions, 'road'> {
  verify: VerifyToken;
  collect: CollectBody;
  bodyBudgets: BodyBudgets;
  bodyBytesMax: number;
}

/** The order of checks: (route, method,) token, scope, URL, content type, size; the rest is the service's. */
export function addRoutes(
  app: FastifyInstance,
  { verify, collect, bodyBudgets, bodyBytesMax, upstream, publicBasePath }: RoutingOptions,
): void {
  const bytesMax = (): number => Math.min(bodyBytesMax, upstream.bodyBytesMax);

  for (const route of routes) {
    const takesBody = route.body !== undefined;
    const forwarding = { upstream, publicBasePath, road: bodyBudgets.roadFor(route.subject) };
    app.route({
      method: route.method,
      url: pathOf(route),
      config: { path: route.path },
      async onRequest(request, reply) {
        const { exchange } = request;
        exchange.caller = await timed(exchange, 'token', () =>
          authorize(request, reply, verify, route.scope),
        );
        checkQuery(request);
        if (takesBody) checkBodyHeaders(request, reply, bytesMax());
        // The route takes no body, so that Fastify must not refuse the request for its content type.
        else delete request.raw.headers['content-type'];
      },
      async preValidation(request, reply) {
        if (!takesBody) return;
        request.body = await timed(request.exchange, 'body', () => collect(request, reply, bytesMax()));
      },
      handler: (request, reply) => forward(route, request, reply, forwarding),
    });
  }
}

/**
 * `{id}` as Fastify writes it. Every id that a service gave out matches; a path with another id is answered 404, so that
 * no such text gets into a header of the bus.
 */
const pathOf = ({ path }: Pick<Route, 'path'>): string =>
  path.replaceAll(/\{(\w+)\}/g, String.raw`:$1(^[\w-]+$)`);

function checkQuery(request: FastifyRequest): void {
  try {
    decodeURIComponent(rawQuery(request));
  } catch (cause) {
    throw new Failure('invalid_request', 'The query cannot be decoded: it must be percent-encoded UTF-8.', {
      cause,
    });
  }
}

/** Answers 405 with the methods of the path, before the gateway asks for a token. */
export function refuseOtherMethods(
  app: FastifyInstance,
  pages: readonly Pick<Route, 'method' | 'path'>[],
): void {
  for (const [path, rows] of Map.groupBy([...routes, ...pages], (row) => row.path)) {
    const methods = new Set<string>(rows.map(({ method }) => method));
    if (methods.has('GET')) methods.add('HEAD');
    const allow = [...methods].toSorted().join(', ');
    app.route({
      method: METHODS.filter((method) => method !== 'CONNECT' && !methods.has(method)),
      url: pathOf({ path }),
      config: { path },
      async onRequest(request: FastifyRequest, reply: FastifyReply) {
        reply.header('allow', allow);
        throw methodNotAllowed(request.method, allow);
      },
      handler: () => undefined,
    });
  }
}
