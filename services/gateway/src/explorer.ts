// `/docs`: Swagger UI, from this package's own node_modules. The gateway sends a policy with it that lets the browser
// load nothing from elsewhere, and run nothing that is written into the page.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { pagePolicy } from './page-policy.ts';

const policy = pagePolicy();

const assets = {
  'start.js': { from: './explorer/start.js', type: 'text/javascript; charset=utf-8' },
  'swagger-ui-bundle.js': {
    from: 'swagger-ui-dist/swagger-ui-bundle.js',
    type: 'text/javascript; charset=utf-8',
  },
  'swagger-ui.css': { from: 'swagger-ui-dist/swagger-ui.css', type: 'text/css; charset=utf-8' },
  'favicon-32x32.png': { from: 'swagger-ui-dist/favicon-32x32.png', type: 'image/png' },
} as const;

const assetPath = (name: string): string => `/docs/${name}`;

/** The paths of all its files but the page itself. */
export const assetPaths = Object.keys(assets).map(assetPath);

export function addExplorer(app: FastifyInstance): void {
  const page = read('./explorer/index.html');
  app.get('/docs', async (_request, reply) =>
    reply
      .header('content-type', 'text/html; charset=utf-8')
      .header('content-security-policy', policy)
      .header('referrer-policy', 'no-referrer')
      .send(page),
  );
  for (const [name, { from, type }] of Object.entries(assets)) {
    const bytes = read(from);
    app.get(assetPath(name), async (_request, reply) =>
      reply.header('content-type', type).header('cache-control', 'public, max-age=3600').send(bytes),
    );
  }
}

const read = (specifier: string): Buffer => readFileSync(fileURLToPath(import.meta.resolve(specifier)));
