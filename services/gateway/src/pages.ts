// The gateway's own pages: health, the interface's description, and the explorer. They need no token.
import type { FastifyInstance } from 'fastify';
import type { CheckReadiness } from './health.ts';

export interface PageOptions {
  checkReadiness: CheckReadiness;
}

export const pages = [
  { method: 'GET', path: '/healthz' },
  { method: 'GET', path: '/readyz' },
] as const;

export function addPages(app: FastifyInstance, { checkReadiness }: PageOptions): void {
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/readyz', async () => checkReadiness());
}
