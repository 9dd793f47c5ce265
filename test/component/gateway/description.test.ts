import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { METHODS } from 'node:http';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { codes, eventKinds, Failure, routes, subjects } from '@integration-sync/contracts';
import { buildConsole } from '@integration-sync/dev/console';
import type { BusHandler } from '@integration-sync/runtime/bus';
import openapiTypescript, { astToString, type OpenAPI3 } from 'openapi-typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bearer } from '../../support/access-tokens.ts';
import { clientsFile } from '../../support/clients.ts';
import { openGateway, openServices, type TestGateway } from '../../support/gateway.ts';
import { startNats } from '../../support/nats.ts';

// The description of the interface: it matches the routes, a linter accepts it, and a public generator makes
// a client of it which compiles and works.

const root = resolve(import.meta.dirname, '../../..');
const run = promisify(execFile);
const stack = new AsyncDisposableStack();
let gateway: TestGateway;
let description: Description;

interface Operation {
  operationId: string;
  security: Record<string, string[]>[];
  requestBody?: unknown;
  responses: Record<string, unknown>;
}

interface Description {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Operation }>;
  components: Record<string, Record<string, unknown>>;
}

beforeAll(async () => {
  await buildConsole();
  const nats = stack.use(await startNats());
  const handlers = {
    [subjects.suppliersPush]: answering('pushSuppliers', { 'x-sync-id': 'sync-1' }),
    [subjects.suppliersList]: answering('listSuppliers', { 'x-next-since': 'then' }),
    [subjects.endpointsGet]: answering('getWebhook'),
    [subjects.endpointsRemove]: () => Promise.reject(new Failure('not_found', 'There is no such webhook.')),
  };
  stack.use(await openServices(nats.url, handlers));
  const clients = stack.use(await clientsFile([]));
  gateway = stack.use(
    await openGateway(nats.url, {
      AUTH_CLIENTS_FILE: clients.path,
      CONSOLE: 'on',
      RATE_LIMIT_REQUESTS: '1000',
    }),
  );
  description = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as Description;
});
afterAll(() => stack.disposeAsync());

describe('/llms.txt', () => {
  it('links to every route and page in the OpenAPI document, first to POST of suppliers, and needs no token', async () => {
    const answer = await fetch(`${gateway.url}/llms.txt`);
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    const text = await answer.text();
    expect(text).toMatch(/^# Integration Sync Service\n\n> Bulk synchronisation/);
    const linked = Array.from(
      text.matchAll(/^- \[(\w+) (\S+)\]\(openapi\.json#\/paths\/(\S+)\/(\w+)\): .*?(?:Scope `(.+)`)?$/gm),
      ([, method = '', path = '', place = '', operation = '', scope]) => {
        expect({ place: place.replaceAll('~1', '/'), operation }).toEqual({
          place: path,
          operation: method.toLowerCase(),
        });
        return { path, operation, scope };
      },
    );
    const described = Object.entries(description.paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([operation, { security }]) => ({
        path,
        operation,
        scope: security.flatMap(({ accessToken = [] }) => accessToken).join('` or `') || undefined,
      })),
    );
    expect(linked).toHaveLength(described.length);
    expect(linked).toEqual(expect.arrayContaining(described));
    expect(linked[0]).toMatchObject({ path: '/api/v1/integration/suppliers', operation: 'post' });
    expect(Buffer.byteLength(text)).toBeLessThan(20_000);
  });
});

describe('/openapi.json', () => {
  it('is what npm run openapi last wrote', async () => {
    expect(JSON.parse(await readFile(join(root, 'docs/openapi.json'), 'utf8'))).toEqual(description);
  });

  it('is OpenAPI 3.1, and needs no token', async () => {
    const answer = await fetch(`${gateway.url}/openapi.json`);
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(description.openapi).toBe('3.1.0');
  });

  it('has every route with its scope, and no other route', async () => {
    for (const { method, path, operationId, scope, orScope } of routes) {
      const scopes = [scope, ...(orScope === undefined ? [] : [orScope])];
      const operation = description.paths[path]?.[method.toLowerCase()];
      expect(operation).toMatchObject({
        operationId,
        security: [
          ...scopes.map((one) => ({ accessToken: [one] })),
          ...scopes.map((one) => ({ oauth2: [one] })),
        ],
      });
    }
    for (const [path, operations] of Object.entries(description.paths)) {
      for (const method of METHODS) {
        if (method === 'CONNECT' || method === 'HEAD') continue;
        const url = gateway.url + path.replaceAll(/\{\w+\}/g, 'wh_1');
        const status = await statusOf(url, method);
        expect({ path, method, there: status !== 404 && status !== 405 }).toEqual({
          path,
          method,
          there: method.toLowerCase() in operations,
        });
      }
    }
  });

  it('has every error code at the operations that answer with it', () => {
    const text = JSON.stringify(description);
    // No operation answers 405: the gateway answers it for methods that a path does not have.
    for (const code of Object.keys(codes).filter((name) => name !== 'method_not_allowed')) {
      expect(text).toContain(`urn:integration-sync:problem:${code}`);
    }
    const statuses = (operationId: string): string[] =>
      Object.values(description.paths)
        .flatMap((operations) => Object.values(operations))
        .filter((operation) => operation.operationId === operationId)
        .flatMap((operation) => Object.keys(operation.responses));
    expect(statuses('pushSuppliers')).toEqual([
      '200',
      '400',
      '401',
      '403',
      '408',
      '413',
      '415',
      '429',
      '431',
      '500',
      '503',
      '504',
    ]);
    expect(statuses('getWebhook')).toEqual([
      '200',
      '400',
      '401',
      '403',
      '404',
      '408',
      '429',
      '431',
      '500',
      '503',
      '504',
    ]);
    expect(statuses('registerWebhook')).toContain('409');
    expect(statuses('deleteWebhook')).toContain('204');
    expect(statuses('checkReadiness')).toEqual(['200', '400', '408', '431', '500', '503']);
  });

  it.each([
    ['post', '/test', '', 200],
    ['post', '/test', '?limit=1', 400],
    ['delete', '', '', 404],
  ])('has every header of the answer to %s %s%s', async (method, name, query, status) => {
    const path = '/api/v1/integration/webhook-events/{id}';
    const answer = await fetch(`${gateway.url}${path.replace('{id}', 'wh_1')}${name}${query}`, {
      method,
      headers: { ...bearer(), prefer: 'handling=strict' },
    });
    expect([answer.status, answer.headers.get('preference-applied')]).toEqual([status, 'handling=strict']);
    const response = JSON.stringify(description.paths[path + name]?.[method]?.responses[status]);
    const shared = /responses\/(\w+)/.exec(response)?.[1] ?? '';
    const described = JSON.stringify(description.components['responses']?.[shared]) ?? response;
    const headers = [...answer.headers.keys()].filter((header) => /^x-|^pref|^rate/.test(header));
    for (const header of headers.filter((one) => one !== 'x-content-type-options'))
      expect(described.toLowerCase()).toContain(`"#/components/headers/${header}"`);
    expect(headers.includes('ratelimit-limit')).toBe(status !== 400);
  });

  it('has every kind of event as webhooks delivers it', () => {
    expect(Object.keys(description.webhooks)).toEqual(eventKinds);
    for (const { post } of Object.values(description.webhooks)) expect(post).toHaveProperty('requestBody');
  });

  it('has every component that it refers to, and no other component', () => {
    const text = JSON.stringify(description);
    const used = new Set(text.matchAll(/"\$ref":"#\/components\/([^"]+)"/g).map(([, name = '']) => name));
    const there = Object.entries(description.components)
      .filter(([section]) => section !== 'securitySchemes')
      .flatMap(([section, named]) => Object.keys(named).map((name) => `${section}/${name}`));
    expect([...used].toSorted()).toEqual(there.toSorted());
  });

  it('has no example of a request id, because the page /docs would send the example', () => {
    expect(description.components['parameters']?.['RequestId']).not.toHaveProperty('example');
  });

  it('passes the linter without an error or a warning', { timeout: 60_000 }, async () => {
    const { stderr } = await run(join(root, 'node_modules/.bin/redocly'), ['lint', 'docs/openapi.json'], {
      cwd: root,
      env: {
        ...process.env,
        REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
        REDOCLY_TELEMETRY: 'off',
        NO_COLOR: '1',
      },
    });
    expect(stderr).toContain('Your API description is valid');
    expect(stderr).not.toMatch(/warning|error/i);
  });
});

describe('a client that is generated from the OpenAPI document', () => {
  // Inside the project, so that it finds the packages it imports, and out of sight.
  const folder = join(root, '.local', `generated-client-${process.pid}`);
  beforeAll(async () => {
    await mkdir(folder, { recursive: true });
    const types = await openapiTypescript(description as unknown as OpenAPI3);
    await writeFile(join(folder, 'description.ts'), astToString(types));
    await writeFile(join(folder, 'integrator.ts'), integrator);
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('compiles, and rejects routes and fields that do not exist', { timeout: 60_000 }, async () => {
    const compiled = await run(
      join(root, 'node_modules/.bin/tsc'),
      [...strictly, join(folder, 'integrator.ts')],
      { cwd: root },
    ).catch(({ stdout }: { stdout: string }) => ({ stdout }));
    expect(compiled.stdout).toBe('');
  });

  it('gets the answers that the document describes', async () => {
    const { integrate } = (await import(join(folder, 'integrator.ts'))) as Integrator;
    expect(await integrate(gateway.url, bearer()['authorization'])).toEqual([
      'CREATED',
      'sync-1',
      'Nordic Timber AB',
      null,
    ]);
    expect(await integrate(gateway.url, 'Bearer x')).toEqual(['unauthorized']);
  });
});

const strictly = [
  '--ignoreConfig',
  '--noEmit',
  '--strict',
  '--exactOptionalPropertyTypes',
  '--module',
  'nodenext',
  '--target',
  'esnext',
  '--lib',
  'esnext,dom',
  '--allowImportingTsExtensions',
];

interface Integrator {
  integrate: (baseUrl: string, authorization: string | undefined) => Promise<unknown[]>;
}

const integrator = `
import createClient from 'openapi-fetch';
import type { paths } from './description.ts';

export async function integrate(baseUrl: string, authorization: string): Promise<unknown[]> {
  const client = createClient<paths>({ baseUrl, headers: { authorization } });
  const supplier = { externalId: 'SUP-001', name: 'Nordic Timber AB', country: null };
  const pushed = await client.POST('/api/v1/integration/suppliers', { body: { suppliers: [supplier] } });
  if (pushed.error !== undefined) return [pushed.error.code];
  const status: 'CREATED' | 'UPDATED' | 'ERROR' | undefined = pushed.data.records[0]?.status;
  const listed = await client.GET('/api/v1/integration/suppliers', { params: { query: { limit: 5 } } });
  const webhook = await client.GET('/api/v1/integration/webhook-events/{id}', { params: { path: { id: 'wh_1' } } });
  const disabledAt: string | null | undefined = webhook.data?.disabledAt;
  return [status, pushed.response.headers.get('x-sync-id'), listed.data?.entities[0]?.name, disabledAt];
}

export async function misuse(): Promise<void> {
  const client = createClient<paths>();
  // @ts-expect-error A supplier has a name.
  await client.POST('/api/v1/integration/suppliers', { body: { suppliers: [{ externalId: 'SUP-001' }] } });
  type Push = paths['/api/v1/integration/suppliers']['post']['requestBody']['content']['application/json'];
  // @ts-expect-error No supplier has a "contry".
  const body: Push = { suppliers: [{ externalId: '1', name: 'One', contry: 'SE' }] };
  await client.POST('/api/v1/integration/suppliers', { body });
  const registered = await client.POST('/api/v1/integration/webhook-events', {
    body: { url: 'https://erp.example.com/', events: ['supplier.created'] },
  });
  // @ts-expect-error No error has this code.
  if (registered.error?.code === 'no_such_code') return;
  // @ts-expect-error A page is a number.
  await client.GET('/api/v1/integration/suppliers', { params: { query: { page: 'one' } } });
  // @ts-expect-error There is no such path.
  await client.GET('/api/v1/integration/nothing');
}
`;

const statusOf = async (url: string, method: string): Promise<number> =>
  // fetch knows no TRACE.
  method === 'TRACE' ? 405 : (await fetch(url, { method })).status;

const example = Object.fromEntries(routes.map((route) => [route.operationId, route.answer.example]));

const answering =
  (operationId: string, headers: Record<string, string> = {}): BusHandler =>
  async () => ({ headers, body: JSON.stringify(example[operationId]) });
