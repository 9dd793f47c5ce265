// `/console`: a page for people, made of the files that `npm run console:build` writes. It is a customer of the interface and of
// nothing else. The gateway sends a policy with it that lets the browser load nothing from elsewhere, run nothing that is
// written into the page, and turn no text into markup or code.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ConfigError } from '@integration-sync/runtime/config';
import type { FastifyInstance } from 'fastify';
import { pagePolicy } from './page-policy.ts';

const policy = pagePolicy("require-trusted-types-for 'script'", "trusted-types 'none'");

const types: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/** The files that the page names: it is their list. */
const named = /(?:src|href)="console\/(?<name>[\w.-]+\.(?<type>js|css|svg))"/g;

export interface ConsoleRoute {
  method: 'GET';
  path: string;
}

const madeFiles = '@integration-sync/console/dist';

/** Throws `ConfigError` where the files have not been made. Returns the paths that it has added. */
export function addConsole(app: FastifyInstance, from = madeFiles): ConsoleRoute[] {
  const page = read(from, 'index.html');
  app.get('/console', async (_request, reply) =>
    reply
      .header('content-type', 'text/html; charset=utf-8')
      .header('content-security-policy', policy)
      .header('referrer-policy', 'no-referrer')
      .header('cross-origin-opener-policy', 'same-origin')
      .send(page),
  );
  const paths = ['/console'];
  for (const { groups: { name = '', type = '' } = {} } of page.toString().matchAll(named)) {
    const bytes = read(from, name);
    const path = `/console/${name}`;
    app.get(path, async (_request, reply) =>
      reply
        .header('content-type', types[type])
        // Its name has the hash of its content.
        .header('cache-control', 'public, max-age=31536000, immutable')
        .send(bytes),
    );
    paths.push(path);
  }
  return paths.map((path) => ({ method: 'GET', path }));
}

function read(from: string, name: string): Buffer {
  try {
    return readFileSync(fileURLToPath(import.meta.resolve(`${from}/${name}`)));
  } catch (cause) {
    const problem =
      'CONSOLE: is on, and the files of the console are not there: run `npm run console:build`, or set it to off';
    throw new ConfigError([problem], { cause });
  }
}
