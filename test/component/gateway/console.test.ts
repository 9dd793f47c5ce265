import { buildConsole } from '@integration-sync/dev/console';
import { ConfigError } from '@integration-sync/runtime/config';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addConsole } from '../../../services/gateway/src/sites.ts';
import { signHs256, token } from '../../support/access-tokens.ts';
import { clientEntry, clientsFile, testSecret } from '../../support/clients.ts';
import { openGateway, openServices, type TestGateway } from '../../support/gateway.ts';
import { startNats } from '../../support/nats.ts';
import { expectProblem } from '../../support/problems.ts';

// What the gateway serves for the console, and `GET /token`, which it asks first.

const stack = new AsyncDisposableStack();
const endless = testSecret();
const ending = testSecret('2099-01-01T00:00:00.000Z');
let on: TestGateway;
let off: TestGateway;
let page: string;
let names: string[];

beforeAll(async () => {
  await buildConsole();
  const nats = stack.use(await startNats());
  stack.use(await openServices(nats.url));
  const clients = stack.use(
    await clientsFile([
      clientEntry('endless', [endless.entry], { scope: 'integration:syncs:read' }),
      clientEntry('ending', [ending.entry]),
    ]),
  );
  on = stack.use(await openGateway(nats.url, { CONSOLE: 'on', AUTH_CLIENTS_FILE: clients.path }));
  off = stack.use(await openGateway(nats.url));
  page = await (await fetch(`${on.url}/console`)).text();
  names = Array.from(page.matchAll(/(?:src|href)="([^"]+)"/g), ([, name = '']) => name);
});
afterAll(() => stack.disposeAsync());

/** The size of scripts and styles, as they are and as the gateway sends them. */
async function sizeOf(isMeant: (link: { rel: string }) => boolean) {
  const links = Array.from(page.matchAll(/<(?:link rel="(\w+)" href|script type="\w+" src)="([^"]+)"/g));
  const meant = links.filter(([, rel = 'script', name = '']) => !name.endsWith('.svg') && isMeant({ rel }));
  const files = await Promise.all(
    meant.map(async ([, , name]) => {
      const answer = await fetch(`${on.url}/${name}`, { headers: { 'accept-encoding': 'gzip' } });
      expect(answer.headers.get('content-encoding')).toBe('gzip');
      return answer.text();
    }),
  );
  expect(files).toHaveLength(2);
  return {
    bytes: files.reduce((sum, text) => sum + Buffer.byteLength(text), 0),
    sent: files.reduce((sum, text) => sum + gzipSync(text, { level: 9 }).length, 0),
    text: files.join('\n'),
  };
}

// The files are read before anything is added.
const addNone = (): unknown => addConsole(undefined as never, '/nowhere');

describe('/console', () => {
  it('has a Content-Security-Policy for its own origin, with trusted types', async () => {
    const answer = await fetch(`${on.url}/console`);
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
    expect(answer.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types loader",
    );
    expect(page).not.toMatch(/https?:|<script>|style=/);
  });

  it('names its files by a hash of their content, and browsers may cache them for ever', async () => {
    expect(names.map((name) => name.replace(/-[\da-f]{12}\./, '.'))).toEqual([
      'console/icon.svg',
      'console/style.css',
      'console/load-file.js',
      'console/worker.js',
      'console/console.js',
    ]);
    for (const name of names) {
      const answer = await fetch(`${on.url}/${name}`);
      expect({ name, status: answer.status, kept: answer.headers.get('cache-control') }).toEqual({
        name,
        status: 200,
        kept: 'public, max-age=31536000, immutable',
      });
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
      await answer.body?.cancel();
    }
  });

  it('has at most 100 KB of script and style, 35 KB compressed, and no code of the server', async () => {
    const { bytes, sent, text } = await sizeOf(({ rel }) => rel !== 'later');
    expect(bytes).toBeLessThanOrEqual(100_000);
    expect(sent).toBeLessThanOrEqual(35_000);
    expect(text).not.toMatch(/typebox|TypeBox|fastify|node:|process\.env|mongodb/);
    // The core of the loader comes later.
    expect(text).not.toContain('is neither UTF-8 nor windows-1252');
  });

  it('fetches at most 120 KB for the view of files, 45 KB compressed, and its worker may request only this origin', async () => {
    const { bytes, sent, text } = await sizeOf(({ rel }) => rel === 'later');
    expect(bytes).toBeLessThanOrEqual(120_000);
    expect(sent).toBeLessThanOrEqual(45_000);
    expect(text).not.toMatch(/typebox|TypeBox|fastify|node:|process\.env|mongodb|iconv/);
    expect(text).toContain('is neither UTF-8 nor windows-1252');
    const worker = names.find((name) => name.includes('worker'));
    const answer = await fetch(`${on.url}/${worker}`);
    expect(answer.headers.get('content-security-policy')).toBe("default-src 'none'; connect-src 'self'");
    await answer.body?.cancel();
  });

  it('allows GET and HEAD', async () => {
    const answer = await fetch(`${on.url}/console`, { method: 'POST' });
    expect({ status: answer.status, allow: answer.headers.get('allow') }).toEqual({
      status: 405,
      allow: 'GET, HEAD',
    });
    await answer.body?.cancel();
  });

  it('is 404 where CONSOLE is off, and the OpenAPI document does not name it', async () => {
    for (const path of ['/console', `/${names[2]}`]) {
      const answer = await fetch(off.url + path);
      expect({ path, status: answer.status }).toEqual({ path, status: 404 });
      await answer.body?.cancel();
    }
    const description = (await (await fetch(`${off.url}/openapi.json`)).json()) as { paths: object };
    expect(Object.keys(description.paths)).not.toContain('/console');
  });

  it('without built files makes the start of the gateway fail, with the command that builds them', () => {
    expect(addNone).toThrow(ConfigError);
    expect(addNone).toThrow('npm run console:build');
  });
});

const ask = (key?: string): Promise<Response> =>
  fetch(`${on.url}/token`, { headers: key === undefined ? {} : { authorization: `Bearer ${key}` } });
const described = async (key: string): Promise<unknown> => (await ask(key)).json();

describe('/token', () => {
  it('returns the integration, the scopes and the expiry time of a token', async () => {
    const exp = Math.floor(Date.now() / 1_000) + 600;
    expect(await described(token({ integration_id: 'other', scope: 'a b', exp }))).toEqual({
      integrationId: 'other',
      scopes: ['a', 'b'],
      expiresAt: new Date(exp * 1_000).toISOString(),
    });
  });

  it('returns no scopes for a token without any scope', async () => {
    expect(await described(token({ scope: undefined }))).toMatchObject({ scopes: [] });
  });

  it('returns the same fields for a key; the expiry time is null for a key that never expires', async () => {
    expect(await described(endless.secret)).toEqual({
      integrationId: 'acme',
      scopes: ['integration:syncs:read'],
      expiresAt: null,
    });
    expect(await described(ending.secret)).toMatchObject({ expiresAt: '2099-01-01T00:00:00.000Z' });
  });

  it('returns the expiry time of a token that was fetched with a key', async () => {
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: 'endless',
      client_secret: endless.secret,
    });
    const issued = await fetch(`${on.url}/oauth/token`, { method: 'POST', body: form });
    const { access_token: issuedToken } = (await issued.json()) as { access_token: string };
    const { expiresAt } = (await described(issuedToken)) as { expiresAt: string };
    expect(Date.parse(expiresAt) - Date.now()).toBeGreaterThan(3_500_000);
    expect(Date.parse(expiresAt) - Date.now()).toBeLessThanOrEqual(3_600_000);
  });

  it.each([
    ['no token', undefined, 'Bearer'],
    ['other text', 'nonsense', 'Bearer error="invalid_token"'],
    ['an expired token', token({ exp: 1 }), 'Bearer error="invalid_token"'],
    ['a token of another key', signHs256({}, {}, 'x'.repeat(40)), 'Bearer error="invalid_token"'],
  ])('refuses %s', async (_what, key, challenge) => {
    await expectProblem(await ask(key), {
      status: 401,
      code: 'unauthorized',
      headers: { 'www-authenticate': challenge },
    });
  });
});
