// The pages that the gateway answers itself: health, the description of the interface, and the explorer of it.
import type { FastifyInstance } from 'fastify';
import { describeMessages } from './asyncapi/document.ts';
import { addConsole, type ConsoleRoute } from './console.ts';
import { addExplorer, assetPaths } from './explorer.ts';
import type { CheckReadiness } from './health.ts';
import { describeInterface } from './openapi/document.ts';
import { gatewayPages } from './openapi/gateway-pages.ts';

type PageRoute = ConsoleRoute;

export interface PagesOptions {
  checkReadiness: CheckReadiness;
  publicBasePath: string;
  hasTokenEndpoint: boolean;
  hasConsole: boolean;
}

/** Returns what it has added. */
export function addPages(app: FastifyInstance, options: PagesOptions): PageRoute[] {
  const { checkReadiness, hasConsole, ...described } = options;
  const description = Buffer.from(JSON.stringify(describeInterface({ ...described, hasConsole })));
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/readyz', async () => checkReadiness());
  const messages = Buffer.from(JSON.stringify(describeMessages()));
  for (const [path, document] of [
    ['/openapi.json', description],
    ['/asyncapi.json', messages],
  ] as const) {
    app.get(path, async (_request, reply) =>
      reply
        .header('content-type', 'application/json; charset=utf-8')
        // Tools of other origins may read it; there is nothing in it that is not public.
        .header('access-control-allow-origin', '*')
        .send(document),
    );
  }
  addExplorer(app);
  const pages = gatewayPages.filter(({ path }) => path !== '/console');
  return [
    ...pages,
    ...assetPaths.map((path) => ({ method: 'GET' as const, path })),
    ...(hasConsole ? addConsole(app) : []),
  ];
}
