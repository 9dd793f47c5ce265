import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { awake } from '../support/awake.ts';
import type { Stack } from '@integration-sync/dev/stack';
import { openClient, startTestStack, type Answer, type Client } from '../support/stack.ts';

// Answers to whole requests, on the whole way: the cases that only the services behind the gateway can
// decide, each with its good twin, and no trace of the refused ones.

let stack: Stack;
beforeAll(async () => {
  stack = await startTestStack();
});
afterAll(() => stack[Symbol.asyncDispose]());

const supplier = (externalId: string) => ({ externalId, name: 'Nordic Timber AB' });
const base = '/api/v1/integration';

async function sendText(
  client: Client,
  path: string,
  body: string | Uint8Array<ArrayBuffer> | undefined,
  method = 'POST',
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(`${stack.gateway}${base}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${stack.token({ integration: client.integration })}`,
      'content-type': 'application/json',
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  };
}

function expectRefusal(answer: Answer, status: number, code: string): void {
  expect({ status: answer.status, code: answer.body['code'] }).toEqual({ status, code });
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  expect(answer.headers.has('x-sync-id')).toBe(false);
  expect(answer.body).toMatchObject({
    status,
    title: expect.any(String),
    detail: expect.any(String),
    requestId: answer.headers.get('x-request-id'),
  });
}

const totalOf = async (client: Client, kind: string): Promise<unknown> =>
  (await client.get(`/${kind}`)).body['total'];

describe('pushes', () => {
  it('are answered 200 when every item fails, and when there is no item', async () => {
    const client = openClient(stack);
    const failed = await client.post('/suppliers', { suppliers: [{ externalId: 'S-1' }] });
    expect(failed).toMatchObject({ status: 200, body: { success: false, created: 0 } });
    const empty = await client.post('/suppliers', { suppliers: [] });
    expect(empty).toMatchObject({ status: 200, body: { success: true, created: 0, records: [] } });
    for (const answer of [failed, empty]) expect(answer.headers.get('x-sync-id')).toMatch(/./);
  });

  it.each<[string, string | Uint8Array<ArrayBuffer>, string]>([
    ['no body', '', 'invalid_json'],
    ['no JSON', '{"suppliers": [}', 'invalid_json'],
    ['JSON and more', '{"suppliers": []} x', 'invalid_json'],
    ['bytes that are no UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 'invalid_json'],
    ['no object', '[]', 'invalid_request'],
    ['null', 'null', 'invalid_request'],
    ['no array', '{}', 'invalid_request'],
    ['something else than an array', '{"suppliers": {}}', 'invalid_request'],
  ])('of %s are answered 400, and write nothing', async (_name, body, code) => {
    const client = openClient(stack);
    expectRefusal(await sendText(client, '/suppliers', body), 400, code);
    expect(await totalOf(client, 'suppliers')).toBe(0);
  });

  it.each([null, 'true', 1, []])('of batches refuse %j as autoCreateDDS', async (autoCreateDDS) => {
    const client = openClient(stack);
    expectRefusal(await client.post('/batches', { batches: [], autoCreateDDS }), 400, 'invalid_request');
    expect(await client.post('/batches', { batches: [], autoCreateDDS: true })).toMatchObject({
      status: 200,
    });
  });

  it('take 500 items; a push of 501 items writes nothing', async () => {
    const client = openClient(stack);
    const items = Array.from({ length: 501 }, (_, at) => supplier(`S-${at}`));
    const refused = await client.post('/suppliers', { suppliers: items });
    expectRefusal(refused, 413, 'too_many_items');
    expect(refused.body['detail']).toContain('500');
    expect(await totalOf(client, 'suppliers')).toBe(0);
    expect(await client.post('/suppliers', { suppliers: items.slice(1) })).toMatchObject({
      status: 200,
      body: { created: 500 },
    });
  });

  it('take a body of 5 MiB; a larger body writes nothing', async () => {
    const client = openClient(stack);
    const bytesMax = 5 * 1024 * 1024;
    const text = JSON.stringify({ suppliers: [supplier('S-1')] });
    const refused = await sendText(client, '/suppliers', text.padEnd(bytesMax + 1));
    expectRefusal(refused, 413, 'body_too_large');
    expect(refused.body['detail']).toContain(String(bytesMax));
    expect(await totalOf(client, 'suppliers')).toBe(0);
    expect(await sendText(client, '/suppliers', text.padEnd(bytesMax))).toMatchObject({
      status: 200,
      body: { created: 1 },
    });
  });
});

describe('listings', () => {
  it.each([
    'page=0',
    'page=-1',
    'page=1.5',
    'page=x',
    'page=',
    'page=1&page=2',
    'limit=0',
    'limit=%2B5',
    'limit=1e2',
    'since=yesterday',
    'since=2024-02-30',
    'since=2026-03-31T09:26:53',
    'since=2026-03-31&since=2026-03-31',
    'cursor=nonsense',
  ])('with %s are answered 400', async (query) => {
    const client = openClient(stack);
    for (const kind of ['suppliers', 'products', 'batches']) {
      expectRefusal(await client.get(`/${kind}?${query}`), 400, 'invalid_request');
    }
  });

  it.each([
    '',
    'page=1&limit=1',
    'limit=100',
    'since=2026-03-31',
    'since=2026-03-31T09:26:53%2B02:00',
    'page=7',
    'unknown=1',
  ])('with %j are answered 200', async (query) => {
    const client = openClient(stack);
    expect(await client.get(`/suppliers?${query}`)).toMatchObject({
      status: 200,
      body: { entities: [], total: 0 },
    });
  });
});

describe('webhooks', () => {
  it('are registered with 201 and a Location, where only their own integration finds them', async () => {
    const client = openClient(stack);
    const registered = await client.post('/webhook-events', {
      url: 'http://127.0.0.1:9/',
      events: ['sync.completed'],
    });
    expect(registered.status).toBe(201);
    const location = registered.headers.get('location') ?? '';
    expect(location).toBe(`${base}/webhook-events/${String(registered.body['id'])}`);
    expect(await client.get(location)).toMatchObject({ status: 200, body: { id: registered.body['id'] } });
    const rival = openClient(stack);
    for (const [method, path] of [
      ['GET', location],
      ['DELETE', location],
      ['POST', `${location}/test`],
      ['POST', `${location}/drill`],
      ['GET', `${location}/deliveries`],
    ] as const) {
      expectRefusal(await rival.send(method, path), 404, 'not_found');
    }
    expect(await client.get(location)).toMatchObject({ status: 200 });
    expect(await client.send('DELETE', location)).toMatchObject({ status: 204, body: {} });
    expectRefusal(await client.get(location), 404, 'not_found');
  });

  it.each([
    { events: ['sync.completed'] },
    { url: 'http://127.0.0.1:9/' },
    { url: 'nowhere', events: ['sync.completed'] },
    { url: 'http://10.0.0.1/', events: ['sync.completed'] },
    { url: 'http://127.0.0.1:9/', events: [] },
    { url: 'http://127.0.0.1:9/', events: ['supplier.deleted'] },
  ])('with the body %j are answered 400', async (body) => {
    const client = openClient(stack);
    expectRefusal(await client.post('/webhook-events', body), 400, 'invalid_request');
    expect(await totalOf(client, 'webhook-events')).toBe(0);
  });
});

describe('a service that is away', () => {
  it('makes only its own routes fail with 503 within 3 s, and its routes are served again once it is back', async () => {
    const client = openClient(stack);
    stack.hold('batches');
    await stack.kill('batches');
    const startedAt = awake();
    const refused = await client.post('/batches', { batches: [] });
    expect(awake() - startedAt).toBeLessThan(3_000);
    expectRefusal(refused, 503, 'unavailable');
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await client.post('/suppliers', { suppliers: [supplier('S-1')] })).toMatchObject({ status: 200 });
    const readiness = async () => (await fetch(`${stack.gateway}/readyz`)).json();
    await expect.poll(readiness, { timeout: 10_000 }).toMatchObject({
      status: 503,
      errors: [{ pointer: 'batches' }],
    });
    await stack.resume('batches');
    await stack.ready();
    expect(await client.post('/batches', { batches: [] })).toMatchObject({ status: 200 });
  });
});

it('every answer has a request id, which is the X-Request-Id of its request where that is valid', async () => {
  for (const path of [
    '/healthz',
    '/readyz',
    '/openapi.json',
    '/docs',
    '/token',
    '/nothing',
    `${base}/suppliers`,
  ]) {
    const answer = await fetch(`${stack.gateway}${path}`, { headers: { 'x-request-id': 'mine' } });
    expect(answer.headers.get('x-request-id')).toBe('mine');
    // A page that is not read keeps its connection.
    await answer.body?.cancel();
  }
});

const strictly = (client: Client, method: string, path: string, body?: unknown): Promise<Answer> =>
  sendText(client, path, body === undefined ? undefined : JSON.stringify(body), method, {
    prefer: 'handling=strict',
  });
const pointersOf = ({ body }: Answer): unknown[] =>
  (body['errors'] as { pointer: string }[]).map(({ pointer }) => pointer).toSorted();

describe('strict handling', () => {
  it.each([
    ['/suppliers?limt=1&limit=0&since=x', ['limit', 'limt', 'since']],
    ['/products?limt=1&limit=0&changedSince=x', ['changedSince', 'limit', 'limt']],
    ['/batches?limt=1&details=x', ['details', 'limt']],
    ['/dds?limt=1&page=0', ['limt', 'page']],
    ['/sync-runs?limt=1&failed=x', ['failed', 'limt']],
    ['/webhook-events?limt=1&page=0&cursor=x&details=x', ['cursor', 'details', 'limt', 'page']],
    ['/webhook-events/wh_0?detail=1&details=x', ['detail', 'details']],
    ['/webhook-events/wh_0/deliveries?limt=1&outcome=x&cursor=x', ['cursor', 'limt', 'outcome']],
    ['/events?limt=1&wait=x&after=x', ['after', 'limt', 'wait']],
  ])('names every unknown field and key in %s', async (path, pointers) => {
    const answer = await strictly(openClient(stack), 'GET', path);
    expectRefusal(answer, 400, 'invalid_request');
    expect(pointersOf(answer)).toEqual(pointers);
  });

  it.each<[string, string, unknown, string[]]>([
    [
      'POST',
      '/suppliers?detail=1&details=x',
      { supliers: 1 },
      ['/supliers', '/suppliers', 'detail', 'details'],
    ],
    ['POST', '/suppliers?detail=1', [], ['', 'detail']],
    [
      'POST',
      '/batches?detail=1',
      { batches: 1, autoCreateDDS: 1, batch: 1 },
      ['/autoCreateDDS', '/batch', '/batches', 'detail'],
    ],
    [
      'POST',
      '/suppliers/plan?detail=1',
      { suppliers: 1, assume: 1, assumed: 1 },
      ['/assume', '/assumed', '/suppliers', 'detail'],
    ],
    ['POST', '/suppliers/archive?detail=1', { ids: [] }, ['/externalIds', '/ids', 'detail']],
    ['POST', '/suppliers/erase?detail=1', { ids: [] }, ['/externalIds', '/ids', 'detail']],
    [
      'POST',
      '/webhook-events?detail=1',
      { url: 'ftp://x', events: [], inFlightMax: 0, event: 1 },
      ['/event', '/events', '/inFlightMax', '/url', 'detail'],
    ],
    ['POST', '/webhook-events?detail=1', [], ['', 'detail']],
    ['PATCH', '/webhook-events/wh_0?detail=1', { activ: true, active: 1 }, ['/activ', '/active', 'detail']],
    [
      'POST',
      '/webhook-events/wh_0/rotate-secret?detail=1',
      { gracePeriod: 1, gracePeriodSeconds: -1 },
      ['/gracePeriod', '/gracePeriodSeconds', 'detail'],
    ],
    ['POST', '/webhook-events/wh_0/replay?detail=1', { since: 'x', til: 1 }, ['/since', '/til', 'detail']],
    ['POST', '/webhook-events/wh_0/test?detail=1', undefined, ['detail']],
  ])('names every unknown parameter in %s %s of %j', async (method, path, body, pointers) => {
    const answer = await strictly(openClient(stack), method, path, body);
    expectRefusal(answer, 400, 'invalid_request');
    expect(pointersOf(answer)).toEqual(pointers);
  });

  it('writes no item of a push with an unknown parameter, and each item of the same push without the parameter', async () => {
    const client = openClient(stack);
    const body = { suppliers: [supplier('S-1')] };
    expectRefusal(await strictly(client, 'POST', '/suppliers?detail=true', body), 400, 'invalid_request');
    const webhook = { url: 'https://127.0.0.1/', events: ['supplier.created'] };
    expectRefusal(await strictly(client, 'POST', '/webhook-events?x=1', webhook), 400, 'invalid_request');
    expect(await totalOf(client, 'suppliers')).toBe(0);
    expect(await totalOf(client, 'webhook-events')).toBe(0);
    expect(await strictly(client, 'POST', '/suppliers?details=true', body)).toMatchObject({ status: 200 });
    expect(await totalOf(client, 'suppliers')).toBe(1);
  });
});
