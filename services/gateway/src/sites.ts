// `/docs` and `/console`: pages for people, each with the files that the page names. The content security policy of a page lets
// the browser load nothing from elsewhere, and run no inline script.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ConfigError } from '@integration-sync/runtime/config';
import type { FastifyInstance } from 'fastify';

interface Site {
  path: string;
  read: (name: string) => Buffer;
  pageHeaders: Readonly<Record<string, string>>;
  cacheControl: string;
}

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** A worker has the policy that comes with its script, and not that of the page. */
const policyOfWorkers = "default-src 'none'; connect-src 'self'";

const types: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
};

/** Adds the page `/docs`: Swagger UI, from the node_modules of this package. Returns the paths of its files. */
export const addExplorer = (app: FastifyInstance): string[] =>
  addSite(app, {
    path: '/docs',
    read: (name) => read(/^(index\.html|start\.js)$/.test(name) ? './explorer' : 'swagger-ui-dist', name),
    pageHeaders: { 'content-security-policy': policy },
    cacheControl: 'public, max-age=3600',
  });

/** Adds the console: the files that `npm run console:build` writes. Its page turns no text into markup or code. */
export const addConsole = (app: FastifyInstance, from = '@integration-sync/console/dist'): string[] =>
  addSite(app, {
    path: '/console',
    read(name) {
      try {
        return read(from, name);
      } catch (cause) {
        const problem =
          'CONSOLE: is on, but the files of the console are missing: run `npm run console:build`, or set CONSOLE=off';
        throw new ConfigError([problem], { cause });
      }
    },
    pageHeaders: {
      'content-security-policy': `${policy}; require-trusted-types-for 'script'; trusted-types loader`,
      'cross-origin-opener-policy': 'same-origin',
    },
    // The name of a file has the hash of its content, so a browser may keep the file for ever.
    cacheControl: 'public, max-age=31536000, immutable',
  });

function addSite(app: FastifyInstance, { path, read: readOne, pageHeaders, cacheControl }: Site): string[] {
  const page = readOne('index.html');
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'referrer-policy': 'no-referrer',
    ...pageHeaders,
  };
  app.get(path, async (_request, reply) => reply.headers(headers).send(page));
  // Only the files that the page names are served, each on its own route.
  const named = new RegExp(
    `(?:src|href)="${path.slice(1)}/(?<name>[\\w.-]+\\.(?<type>js|css|svg|png))"`,
    'g',
  );
  return Array.from(page.toString().matchAll(named), ({ groups: { name = '', type = '' } = {} }) => {
    const bytes = readOne(name);
    const filePath = `${path}/${name}`;
    app.get(filePath, async (_request, reply) =>
      reply
        .headers({
          'content-type': types[type],
          'cache-control': cacheControl,
          'content-security-policy': policyOfWorkers,
        })
        .send(bytes),
    );
    return filePath;
  });
}

const read = (from: string, name: string): Buffer =>
  readFileSync(fileURLToPath(import.meta.resolve(`${from}/${name}`)));
