// The pages that the gateway answers itself: health, the descriptions of the interface, and the pages for people.
import type { FastifyInstance } from 'fastify';
import { describeMessages } from './asyncapi/document.ts';
import type { CheckReadiness } from './readiness.ts';
import { describeForAgents } from './llms.ts';
import { describeInterface } from './openapi/document.ts';
import { gatewayPages, type GatewayPagesOptions } from './openapi/gateway-pages.ts';
import type { GatewayPage } from './openapi/model.ts';
import { addConsole, addExplorer } from './sites.ts';

export interface PagesOptions extends GatewayPagesOptions {
  checkReadiness: CheckReadiness;
  publicBasePath: string;
}

/** Returns all pages of the gateway, with the pages that the token endpoint has added. */
export function addPages(
  app: FastifyInstance,
  { checkReadiness, ...options }: PagesOptions,
): Pick<GatewayPage, 'method' | 'path'>[] {
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/readyz', async () => checkReadiness());
  addDocument(app, '/openapi.json', JSON.stringify(describeInterface(options)));
  addDocument(app, '/asyncapi.json', JSON.stringify(describeMessages()));
  addDocument(app, '/llms.txt', describeForAgents(options), 'text/plain');
  const files = [...addExplorer(app), ...(options.hasConsole ? addConsole(app) : [])];
  return [...gatewayPages(options), ...files.map((path) => ({ method: 'GET' as const, path }))];
}

function addDocument(app: FastifyInstance, path: string, text: string, type = 'application/json'): void {
  const bytes = Buffer.from(text);
  app.get(path, async (_request, reply) =>
    reply
      .header('content-type', `${type}; charset=utf-8`)
      // Pages of other origins may read the document, because all its content is public.
      .header('access-control-allow-origin', '*')
      .send(bytes),
  );
}
