import { Failure, subjects, routes } from '@integration-sync/contracts';
import type { BusRequest } from '@integration-sync/runtime/bus';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { bearer } from '../../support/access-tokens.ts';
import { awake } from '../../support/awake.ts';
import { openGateway, openServices, type Asked, type TestGateway } from '../../support/gateway.ts';
import { startNats } from '../../support/nats.ts';
import { expectProblem } from '../../support/problems.ts';

// What the gateway asks a service, and how it answers its caller from the reply.

const outer = new AsyncDisposableStack();
let natsUrl: string;
let gateway: TestGateway;

beforeAll(async () => {
  const nats = outer.use(await startNats());
  natsUrl = nats.url;
  gateway = outer.use(await openGateway(natsUrl));
});
afterAll(() => outer.disposeAsync());

let inner: AsyncDisposableStack;
beforeEach(() => {
  inner = new AsyncDisposableStack();
});
afterEach(() => inner.disposeAsync());

const list = (query = '', headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${gateway.url}/api/v1/integration/suppliers${query}`, { headers: { ...bearer(), ...headers } });

const answering = async (handler: (request: BusRequest) => Promise<object>): Promise<void> => {
  inner.use(await openServices(natsUrl, { [subjects.suppliersList]: handler }));
};

const failing = (failure: Error): Promise<void> =>
  answering(() => {
    throw failure;
  });

const traceOf = async (given: string) =>
  ((await (await list('', { traceparent: given })).json()) as Asked).headers['traceparent'];

describe('when a caller disconnects', () => {
  it('the service learns that this caller stopped waiting, and that another caller still waits', async () => {
    const asked = new Map<string, BusRequest>();
    const done = Promise.withResolvers<void>();
    await answering(async (request) => {
      asked.set(request.headers.get('query') ?? '', request);
      await done.promise;
      return {};
    });
    inner.defer(done.resolve);
    const hangUp = new AbortController();
    const hanging = fetch(`${gateway.url}/api/v1/integration/suppliers?page=1`, {
      headers: bearer(),
      signal: hangUp.signal,
    });
    const waiting = list('?page=2');
    await expect.poll(() => asked.size).toBe(2);
    const stillWaitsFor = (query: string) => asked.get(query)?.isWaitedFor();
    expect(await stillWaitsFor('page=1')).toBe(true);
    hangUp.abort();
    await expect(hanging).rejects.toThrow('aborted');
    await expect.poll(() => stillWaitsFor('page=1')).toBe(false);
    expect(await stillWaitsFor('page=2')).toBe(true);
    done.resolve();
    expect((await waiting).status).toBe(200);
  });
});

describe('requests of the gateway to services', () => {
  it('each route sends requests on its own subject', async () => {
    inner.use(await openServices(natsUrl));
    for (const route of routes) {
      const answer = await fetch(gateway.url + route.path.replaceAll(/\{\w+\}/g, 'wh_1'), {
        method: route.method,
        headers: { ...bearer(), ...(route.body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(route.body === undefined ? {} : { body: JSON.stringify(route.body.example) }),
      });
      const asked = (await answer.json()) as Asked;
      expect({ operation: route.operationId, subject: asked.subject, id: asked.headers['id'] }).toEqual({
        operation: route.operationId,
        subject: route.subject,
        id: route.path.includes('{id}') ? 'wh_1' : undefined,
      });
      expect(Buffer.from(asked.body, 'base64').toString()).toBe(
        route.body === undefined ? '' : JSON.stringify(route.body.example),
      );
    }
  });

  it('the service gets the Idempotency-Key of a route that accepts this header, and the event id of the path', async () => {
    inner.use(await openServices(natsUrl));
    const base = `${gateway.url}/api/v1/integration/webhook-events`;
    const headers = { ...bearer(), 'content-type': 'application/json', 'idempotency-key': 'Auftrag 7/ü' };
    const post = { method: 'POST', headers, body: '{}' };
    const taken = (await (await fetch(base, post)).json()) as Asked;
    expect(decodeURIComponent(taken.headers['idempotency-key'] ?? '')).toBe('Auftrag 7/ü');
    const other = (await (await fetch(`${base}/wh_1/replay`, post)).json()) as Asked;
    expect(other.headers).not.toHaveProperty('idempotency-key');
    const eventId = `e-${'x'.repeat(253)}`;
    const one = (await (
      await fetch(`${base}/wh_1/deliveries/${eventId}`, { headers: bearer() })
    ).json()) as Asked;
    expect(one.headers).toMatchObject({ id: 'wh_1', 'event-id': eventId });
    expect((await fetch(`${base}/wh_1/deliveries/${eventId}x`, { headers: bearer() })).status).toBe(404);
  });

  it('the request has the integration, the request id and the time-out of the gateway', async () => {
    inner.use(await openServices(natsUrl));
    const asked = (await (await list('', { 'x-request-id': 'mine' })).json()) as Asked;
    expect(asked.headers).toMatchObject({ integration: 'acme', 'request-id': 'mine' });
    expect(asked.headers).not.toHaveProperty('authorization');
    expect(asked.headers['timeout-ms']).toBe('10000');
  });

  it('the integration comes from the token and not from a header', async () => {
    inner.use(await openServices(natsUrl));
    const asked = (await (
      await list('', { integration: 'rival', 'x-integration-id': 'rival' })
    ).json()) as Asked;
    expect(asked.headers['integration']).toBe('acme');
  });

  it.each([
    '?page=1&limit=2',
    '?since=2026-03-31T09%3A26%3A53%2B02%3A00',
    '?a=1&a=2&=&&x',
    '?cursor=%00%0d%0ax',
    '?ä',
  ])('the service gets the query %s unchanged', async (query) => {
    inner.use(await openServices(natsUrl));
    const asked = (await (await list(query)).json()) as Asked;
    expect(asked.headers['query']).toBe(new URL(`http://x/${query}`).search.slice(1));
  });

  it('a request without a query has no query header', async () => {
    inner.use(await openServices(natsUrl));
    for (const query of ['', '?']) {
      expect(((await (await list(query)).json()) as Asked).headers).not.toHaveProperty('query');
    }
  });

  it('without a collector, the request has the traceparent of the caller, and no traceparent if this is malformed', async () => {
    inner.use(await openServices(natsUrl));
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const before = gateway.lines.filter(({ msg }) => msg === 'request').length;
    expect(await traceOf(traceparent)).toBe(traceparent);
    for (const odd of [
      'x',
      `${traceparent}-x`,
      traceparent.replace(/4bf92f3577b34da6a3ce929d0e0e4736/, '0'.repeat(32)),
    ]) {
      expect(await traceOf(odd)).toBeUndefined();
    }
    const logged = (): unknown[] =>
      gateway.lines
        .filter(({ msg }) => msg === 'request')
        .slice(before)
        .map((line) => line['traceId']);
    await expect.poll(logged).toEqual(['4bf92f3577b34da6a3ce929d0e0e4736', undefined, undefined, undefined]);
  });
});

describe('answers of the gateway', () => {
  it('the caller gets status, body and http-* headers of the reply, and the log line has its log-* headers', async () => {
    const bytes = '{ "entities" : [] , "ä": 1e2 }\n';
    await answering(async () => ({
      status: 201,
      headers: {
        'x-sync-id': 'sync-1',
        'x-next-since': '2026-03-31T09:26:53.589Z',
        link: '</api/v1/integration/suppliers?cursor=x>; rel="next"',
        location: '/api/v1/integration/webhook-events/wh_1',
      },
      body: bytes,
      logFields: { created: 3, kind: 'supplier', replayed: false },
    }));
    const answer = await list('', { 'x-request-id': 'logged' });
    expect(answer.status).toBe(201);
    expect(await answer.text()).toBe(bytes);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'x-sync-id': 'sync-1',
      'x-next-since': '2026-03-31T09:26:53.589Z',
      link: '</api/v1/integration/suppliers?cursor=x>; rel="next"',
      location: '/api/v1/integration/webhook-events/wh_1',
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
    });
    expect(answer.headers.has('created')).toBe(false);
    expect(gateway.lines.findLast((line) => line['requestId'] === 'logged')).toMatchObject({
      msg: 'request',
      level: 'info',
      integration: 'acme',
      method: 'GET',
      route: '/api/v1/integration/suppliers',
      upstream: 'svc.catalog.suppliers.list',
      status: 201,
      created: 3,
      kind: 'supplier',
      replayed: false,
      bytesIn: 0,
      bytesOut: Buffer.byteLength(bytes),
      stages: { token: expect.any(Number), upstream: expect.any(Number) },
      durationMs: expect.any(Number),
    });
  });

  it('a reply without a status gets the status of its route', async () => {
    const handlers = Object.fromEntries(routes.map(({ subject }) => [subject, async () => ({})]));
    inner.use(await openServices(natsUrl, handlers));
    const seen = routes.map(async ({ operationId, method, path, body }) => {
      const { status } = await fetch(gateway.url + path.replaceAll(/\{\w+\}/g, 'wh_1'), {
        method,
        headers: { ...bearer(), ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body.example) }),
      });
      return { operationId, status };
    });
    expect(await Promise.all(seen)).toEqual(
      routes.map(({ operationId, answer: { status } }) => ({ operationId, status })),
    );
  });

  it('Link and Location begin with PUBLIC_BASE_PATH, and never with a prefix from a caller’s header', async () => {
    const headers = {
      link: '</api/v1/integration/suppliers?cursor=x>; rel="next"',
      location: '/api/v1/integration/webhook-events/wh_1',
    };
    await answering(async () => ({ headers, body: '{}' }));
    const behindProxy = inner.use(await openGateway(natsUrl, { PUBLIC_BASE_PATH: '/sync/eu' }));
    const seen = await Promise.all(
      [behindProxy, gateway].map(async ({ url }) => {
        const answer = await fetch(`${url}/api/v1/integration/suppliers`, {
          headers: { ...bearer(), 'x-forwarded-prefix': '/evil' },
        });
        const described = (await (await fetch(`${url}/openapi.json`)).json()) as {
          servers: { url: string }[];
        };
        return [answer.headers.get('link'), answer.headers.get('location'), described.servers[0]?.url];
      }),
    );
    expect(seen).toEqual([
      [
        '</sync/eu/api/v1/integration/suppliers?cursor=x>; rel="next"',
        '/sync/eu/api/v1/integration/webhook-events/wh_1',
        '/sync/eu',
      ],
      [headers.link, headers.location, '/'],
    ]);
  });

  it('an answer 204 has no body, no Content-Type and no Content-Length', async () => {
    await answering(async () => ({ status: 204 }));
    const answer = await list();
    expect(answer.status).toBe(204);
    expect(answer.headers.has('content-type')).toBe(false);
    expect(answer.headers.has('content-length')).toBe(false);
  });

  it('an answer to HEAD has the headers alone', async () => {
    await answering(async () => ({ headers: { 'x-next-since': 'then' }, body: '{"some":"thing"}' }));
    const answer = await fetch(`${gateway.url}/api/v1/integration/suppliers`, {
      method: 'HEAD',
      headers: bearer(),
    });
    expect({
      status: answer.status,
      next: answer.headers.get('x-next-since'),
      body: await answer.text(),
    }).toEqual({
      status: 200,
      next: 'then',
      body: '',
    });
    expect(answer.headers.get('content-length')).toBe('16');
  });
});

describe('failures at the gateway', () => {
  it.each([
    ['invalid_json', 400],
    ['invalid_request', 400],
    ['not_found', 404],
    ['conflict', 409],
    ['too_many_items', 413],
    ['internal', 500],
    ['unavailable', 503],
    ['timeout', 504],
  ] as const)('the failure %s is answered %i, with the detail of the service', async (code, status) => {
    await failing(
      new Failure(code, 'What the service says.', { errors: [{ pointer: '/a/0', detail: 'wrong' }] }),
    );
    const problem = await expectProblem(await list(), { status, code });
    expect(problem).toMatchObject({
      detail: 'What the service says.',
      errors: [{ pointer: '/a/0', detail: 'wrong' }],
    });
  });

  it('an answer 503 has the Retry-After of the service, or one second', async () => {
    await failing(new Failure('unavailable', 'Away.', { retryAfterSeconds: 7 }));
    await expectProblem(await list(), { status: 503, code: 'unavailable', headers: { 'retry-after': '7' } });
    await inner.disposeAsync();
    inner = new AsyncDisposableStack();
    await failing(new Failure('unavailable', 'Away.'));
    await expectProblem(await list(), { status: 503, code: 'unavailable', headers: { 'retry-after': '1' } });
  });

  it('an error with an unknown code is answered 500 without its detail', async () => {
    await failing(new Error('ECONNREFUSED mongodb://user:secret@10.0.0.1'));
    const problem = await expectProblem(await list(), { status: 500, code: 'internal' });
    expect(JSON.stringify(problem)).not.toMatch(/mongodb|secret|ECONN/);
  });

  it('a request to a service without a replica is answered 503 immediately', async () => {
    const startedAt = awake();
    await expectProblem(await list(), { status: 503, code: 'unavailable', headers: { 'retry-after': '1' } });
    expect(awake() - startedAt).toBeLessThan(1_000);
    expect(gateway.lines.at(-1)).toMatchObject({
      level: 'warn',
      status: 503,
      detail: expect.stringMatching(/^The catalog service is away/),
    });
  });

  it(
    'a request to a service that does not reply is answered 504 after the time-out',
    { timeout: 30_000 },
    async () => {
      const { promise, resolve } = Promise.withResolvers<object>();
      await answering(() => promise);
      const startedAt = Date.now();
      const startedAwakeAt = awake();
      await expectProblem(await list(), { status: 504, code: 'timeout' });
      expect(Date.now() - startedAt).toBeGreaterThan(9_900);
      expect(awake() - startedAwakeAt).toBeLessThan(11_000);
      resolve({});
    },
  );
});
