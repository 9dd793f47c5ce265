// Makes a Fastify route of each row of the route table, and answers every other method of a path with 405.
import { METHODS } from 'node:http';
import { Failure, routes, type Route } from '@integration-sync/contracts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { BodyBudgets } from './body/body-budgets.ts';
import { forward, type ForwardOptions, type RouteParameters } from './forward.ts';
import { requestChecks, type ChecksOptions } from './server/request-checks.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The path as the route table writes it. */
    path?: string;
  }
}

export interface RoutingOptions
  extends Omit<ForwardOptions, 'road' | 'answers'>, Omit<ChecksOptions, 'bytesMax'> {
  bodyBudgets: BodyBudgets;
  bodyBytesMax: number;
}

export function addRoutes(
  app: FastifyInstance,
  { verify, collect, bodyBudgets, bodyBytesMax, upstream, publicBasePath }: RoutingOptions,
): void {
  const bytesMax = (): number => Math.min(bodyBytesMax, upstream.bodyBytesMax);

  for (const route of routes) {
    const road = bodyBudgets.roadFor(route.subject);
    const forwarding = { upstream, publicBasePath, verify, road, answers: bodyBudgets.answers };
    app.route<RouteParameters>({
      method: route.method,
      url: pathOf(route),
      config: { path: route.path },
      ...requestChecks(route, { verify, collect, bytesMax }),
      handler: (request, reply) => forward(route, request, reply, forwarding),
    });
  }
}

/** Adds a pattern to each id of the path: every id that services issue matches, and no other text gets into a NATS header. */
const pathOf = ({ path }: Pick<Route, 'path'>): string =>
  path.replaceAll(/\{(\w+)\}/g, String.raw`:$1(^[\w-]+$)`);

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
        throw new Failure('method_not_allowed', `This address takes ${allow}, not ${request.method}.`);
      },
      handler: () => undefined,
    });
  }
}
