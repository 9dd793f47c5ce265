import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bearer, token } from '../../support/access-tokens.ts';
import { openReadyGateway, openServices, type TestGateway } from '../../support/gateway.ts';
import { startNats } from '../../support/nats.ts';
import { expectProblem } from '../../support/problems.ts';
import { exchangeRaw } from '../../support/raw-http.ts';

// Answers that refuse a whole request, in the documented order of checks: route, method, token, scope,
// content type, size. Each case breaks one rule and every later one too, so it also shows which check comes
// first.

const stack = new AsyncDisposableStack();
let gateway: TestGateway;

beforeAll(async () => {
  const nats = stack.use(await startNats());
  stack.use(await openServices(nats.url));
  gateway = stack.use(await openReadyGateway(nats.url, { BODY_BYTES_MAX: '2048' }));
});
afterAll(() => stack.disposeAsync());

const suppliers = '/api/v1/integration/suppliers';
const webhook = '/api/v1/integration/webhook-events/wh_1';
const json = { 'content-type': 'application/json' };
const tooLarge = 'x'.repeat(2_049);

describe('the order of checks', () => {
  it('404 is decided before all other errors', async () => {
    const answer = await fetch(`${gateway.url}/api/v1/integration/suppliers/1`, {
      method: 'POST',
      headers: { authorization: 'Bearer x', 'content-type': 'text/plain' },
      body: tooLarge,
    });
    await expectProblem(answer, { status: 404, code: 'not_found', headers: { 'www-authenticate': null } });
  });

  it('405 is decided before the token is checked', async () => {
    const answer = await fetch(`${gateway.url}${suppliers}`, {
      method: 'PUT',
      headers: { 'content-type': 'text/plain' },
      body: tooLarge,
    });
    await expectProblem(answer, {
      status: 405,
      code: 'method_not_allowed',
      headers: { allow: 'GET, HEAD, POST', 'www-authenticate': null },
    });
  });

  it('401 is decided before the scope is checked, and says nothing about the body', async () => {
    const answer = await fetch(`${gateway.url}${suppliers}`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: tooLarge,
    });
    await expectProblem(answer, {
      status: 401,
      code: 'unauthorized',
      headers: { 'www-authenticate': 'Bearer' },
    });
  });

  it('401 for a bad token has another WWW-Authenticate than 401 for no token', async () => {
    const answer = await fetch(`${gateway.url}${suppliers}`, { headers: { authorization: 'Bearer x.y.z' } });
    await expectProblem(answer, {
      status: 401,
      code: 'unauthorized',
      headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
    });
  });

  it('403 is decided before the content type is checked', async () => {
    const answer = await fetch(`${gateway.url}${suppliers}`, {
      method: 'POST',
      headers: { ...bearer({ scope: 'integration:suppliers:read' }), 'content-type': 'text/plain' },
      body: tooLarge,
    });
    await expectProblem(answer, {
      status: 403,
      code: 'insufficient_scope',
      headers: {
        'www-authenticate': 'Bearer error="insufficient_scope", scope="integration:suppliers:write"',
      },
    });
  });

  it('415 is decided before the size of the body is checked', async () => {
    const answer = await fetch(`${gateway.url}${suppliers}`, {
      method: 'POST',
      headers: { ...bearer(), 'content-type': 'text/plain' },
      body: tooLarge,
    });
    await expectProblem(answer, {
      status: 415,
      code: 'unsupported_media_type',
      headers: { accept: 'application/json' },
    });
  });

  it('413 is decided before the JSON is parsed, and names the limit', async () => {
    const answer = await fetch(`${gateway.url}${suppliers}`, {
      method: 'POST',
      headers: { ...bearer(), ...json },
      body: tooLarge,
    });
    expect(await answer.clone().text()).toContain('2048 bytes');
    await expectProblem(answer, { status: 413, code: 'body_too_large' });
  });

  it('a request that breaks no rule reaches the service', async () => {
    const answer = await fetch(`${gateway.url}${suppliers}`, {
      method: 'POST',
      headers: { ...bearer(), ...json },
      body: 'x'.repeat(2_048),
    });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  });
});

describe('paths', () => {
  it.each([
    '/',
    '/api',
    '/api/v1/integration',
    '/api/v1/integration/',
    '/api/v1/integration/supplier',
    '/api/v1/integration/Suppliers',
    '/API/v1/integration/suppliers',
    '/api/v2/integration/suppliers',
    '/api/v1/integration/suppliers/',
    '/api/v1/integration//suppliers',
    '//api/v1/integration/suppliers',
    '/api/v1/integration%2Fsuppliers',
    '/api/v1/integration/suppliers%2F',
    '/api/v1/integration/suppliers%00',
    '/api/v1/integration/suppliers%20',
    '/api/v1/integration/suppliers;x=1',
    '/api/v1/integration/suppliers/%2e%2e/suppliers',
    '/api/v1/integration/./suppliers',
    '/api/v1/integration/webhook-events/',
    '/api/v1/integration/webhook-events//test',
    '/api/v1/integration/webhook-events/wh_1/deliveries/',
    '/healthz/',
    '/metrics',
    '/docs/',
    '/docs/..%2f..%2fpackage.json',
    '/docs/../package.json',
    '*',
  ])('%s is 404 with and without a token', async (path) => {
    for (const authorization of ['', `authorization: Bearer ${token()}\r\n`]) {
      const answer = await exchangeRaw(
        gateway.port,
        `GET ${path} HTTP/1.1\r\nhost: x\r\n${authorization}\r\n`,
      );
      expect({ status: answer.status, code: JSON.parse(answer.body).code }).toEqual({
        status: 404,
        code: 'not_found',
      });
    }
  });

  it.each(['wh%00', 'wh%0d%0aintegration:%20other', 'a%2Fb', '..%2f', 'ä', 'x'.repeat(300), '%20'])(
    'the webhook id %s is 404',
    async (id) => {
      const request = (authorization: string) =>
        exchangeRaw(
          gateway.port,
          `GET /api/v1/integration/webhook-events/${encodeURI(decodeURI(id))} HTTP/1.1\r\nhost: x\r\n${authorization}\r\n`,
        );
      const answer = await request(`authorization: Bearer ${token()}\r\n`);
      expect({ status: answer.status, code: JSON.parse(answer.body).code }).toEqual({
        status: 404,
        code: 'not_found',
      });
      expect([401, 404]).toContain((await request('')).status);
    },
  );

  it.each([
    '/api/v1/integration/%',
    '/api/v1/integration/%zz',
    '/%c0%af',
    '/%ff',
    '/api/v1/integration/webhook-events/%e0%80',
  ])('%s cannot be decoded and is 400', async (path) => {
    const answer = await exchangeRaw(
      gateway.port,
      `GET ${path} HTTP/1.1\r\nhost: x\r\nx-request-id: mine\r\n\r\n`,
    );
    expect(answer.status).toBe(400);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/problem+json',
      'x-request-id': 'mine',
    });
    expect(JSON.parse(answer.body)).toMatchObject({
      code: 'invalid_request',
      detail: expect.stringContaining('percent-encoded UTF-8'),
      requestId: 'mine',
    });
  });

  it.each(['limit=%', 'since=%zz', 'cursor=%ff'])(
    'the query %s cannot be decoded and is 400, after the token is checked',
    async (query) => {
      const known = await fetch(`${gateway.url}${suppliers}?${query}`, { headers: bearer() });
      await expectProblem(known, { status: 400, code: 'invalid_request' });
      const unknown = await fetch(`${gateway.url}${suppliers}?${query}`);
      await expectProblem(unknown, { status: 401, code: 'unauthorized' });
    },
  );

  it('of GET /token cannot be decoded and is 400, after the token is checked', async () => {
    const path = `${gateway.url}/token?x=%zz`;
    await expectProblem(await fetch(path, { headers: bearer() }), { status: 400, code: 'invalid_request' });
    await expectProblem(await fetch(path), { status: 401, code: 'unauthorized' });
  });

  it('may be in an absolute URL', async () => {
    const answer = await exchangeRaw(
      gateway.port,
      `GET http://example.com/healthz HTTP/1.1\r\nhost: example.com\r\n\r\n`,
    );
    expect(answer.status).toBe(200);
  });
});

describe('methods', () => {
  it.each([
    [suppliers, 'GET, HEAD, POST'],
    ['/api/v1/integration/dds', 'GET, HEAD'],
    ['/api/v1/integration/webhook-events', 'GET, HEAD, POST'],
    [webhook, 'DELETE, GET, HEAD, PATCH'],
    [`${webhook}/test`, 'POST'],
    [`${webhook}/deliveries`, 'GET, HEAD'],
    ['/healthz', 'GET, HEAD'],
    ['/openapi.json', 'GET, HEAD'],
    ['/docs', 'GET, HEAD'],
    ['/token', 'GET, HEAD'],
  ])('the path %s allows the methods %s alone', async (path, allow) => {
    for (const method of ['PUT', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY', 'PURGE']) {
      const answer = await exchangeRaw(gateway.port, `${method} ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
      expect({ method, status: answer.status, allow: answer.headers['allow'] }).toEqual({
        method,
        status: 405,
        allow,
      });
      expect(JSON.parse(answer.body).code).toBe('method_not_allowed');
    }
  });

  it.each([suppliers, '/healthz', '/docs', '/openapi.json'])(
    'HEAD %s answers as GET does, without the body',
    async (path) => {
      const get = await fetch(gateway.url + path, { headers: { ...bearer(), 'x-request-id': 'same' } });
      const head = await fetch(gateway.url + path, {
        method: 'HEAD',
        headers: { ...bearer(), 'x-request-id': 'same' },
      });
      expect(head.status).toBe(200);
      expect(await head.text()).toBe('');
      expect(head.headers.get('content-type')).toBe(get.headers.get('content-type'));
    },
  );

  it('HEAD needs a token where GET does', async () => {
    const answer = await fetch(gateway.url + suppliers, { method: 'HEAD' });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
  });

  it('CONNECT is answered 404 instead of dropped', async () => {
    const answer = await exchangeRaw(
      gateway.port,
      'CONNECT example.com:443 HTTP/1.1\r\nhost: example.com\r\n\r\n',
    );
    expect(answer.status).toBe(404);
    expect(JSON.parse(answer.body).code).toBe('not_found');
  });
});

const push = (headers: Record<string, string>, body = '{}') =>
  fetch(gateway.url + suppliers, { method: 'POST', headers: { ...bearer(), ...headers }, body });

describe('content types', () => {
  it.each([
    'application/json',
    'APPLICATION/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json; charset=utf8',
    'application/json ; profile=x',
  ])('the content type %s is accepted', async (type) => {
    expect((await push({ 'content-type': type })).status).toBe(200);
  });

  it.each([
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'application/jsonx',
    'application/problem+json',
    'application',
    'application/json, text/plain',
    'application/json; charset=latin1',
    'application/json; charset=utf-16',
    'application/json; charset=utf-8; charset=latin1',
    ';;;',
  ])('the content type %s is refused', async (type) => {
    await expectProblem(await push({ 'content-type': type }), {
      status: 415,
      code: 'unsupported_media_type',
    });
  });

  it('a body without a content type is refused, and a request without a body reaches the service', async () => {
    const head = `POST ${suppliers} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token()}\r\n`;
    expect((await exchangeRaw(gateway.port, `${head}content-length: 2\r\n\r\n{}`)).status).toBe(415);
    expect((await exchangeRaw(gateway.port, `${head}content-length: 0\r\n\r\n`)).status).toBe(200);
    expect((await exchangeRaw(gateway.port, `${head}\r\n`)).status).toBe(200);
  });

  it.each(['gzip', 'deflate', 'br', 'gzip, identity', 'x'])(
    'the content coding %s is refused',
    async (coding) => {
      await expectProblem(await push({ ...json, 'content-encoding': coding }), {
        status: 415,
        code: 'unsupported_media_type',
        headers: { 'accept-encoding': 'identity' },
      });
    },
  );

  it('the content coding identity is accepted', async () => {
    expect((await push({ ...json, 'content-encoding': 'identity' })).status).toBe(200);
  });

  it.each([
    ['DELETE', webhook],
    ['POST', `${webhook}/test`],
  ])('%s %s takes no body, and the gateway ignores a given body', async (method, path) => {
    const headers = { ...bearer(), 'content-type': 'no/thing; like=it' };
    const init = { method, headers, body: tooLarge };
    const answer = await fetch(gateway.url + path, init);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ body: '' });
  });
});

describe('request ids', () => {
  it.each(['a', 'A-Z.a_z-0.9', 'x'.repeat(128)])('the valid X-Request-Id %s is kept', async (id) => {
    const answer = await fetch(`${gateway.url}/nothing`, { headers: { 'x-request-id': id } });
    expect(answer.headers.get('x-request-id')).toBe(id);
  });

  it.each(['', ' ', 'a b', 'a/b', 'ä', 'x'.repeat(129), 'a, b'])(
    'the invalid X-Request-Id %j is replaced',
    async (id) => {
      const answer = await exchangeRaw(
        gateway.port,
        `GET /healthz HTTP/1.1\r\nhost: x\r\nx-request-id: ${id}\r\n\r\n`,
      );
      expect(answer.headers['x-request-id']).toMatch(/^[\da-f-]{36}$/);
    },
  );

  it('every answer has a request id of its own', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => fetch(`${gateway.url}/healthz`)));
    expect(new Set(answers.map((answer) => answer.headers.get('x-request-id'))).size).toBe(3);
  });
});
