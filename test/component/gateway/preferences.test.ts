// What a caller may ask of any answer: that it is compressed, and that misspelt names are refused.
import { request as send, type IncomingHttpHeaders } from 'node:http';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { routes, subjects } from '@integration-sync/contracts';
import type { BusHandler } from '@integration-sync/runtime/bus';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bearer } from '../../support/access-tokens.ts';
import { openReadyGateway, openServices, type Asked, type TestGateway } from '../../support/gateway.ts';
import { startNats } from '../../support/nats.ts';

const stack = new AsyncDisposableStack();
let gateway: TestGateway;

/** Of so many bytes, as `limit` of its query asks. */
const sized: BusHandler = async ({ headers }) => {
  const bytes = Math.max(Number(new URLSearchParams(headers.get('query')).get('limit')), 2);
  return { headers: { link: '</x>; rel="next"' }, body: JSON.stringify('x'.repeat(bytes - 2)) };
};

beforeAll(async () => {
  const nats = stack.use(await startNats());
  stack.use(await openServices(nats.url, { [subjects.productsList]: sized }));
  gateway = stack.use(await openReadyGateway(nats.url));
});
afterAll(() => stack.disposeAsync());

interface Raw {
  status: number | undefined;
  headers: IncomingHttpHeaders;
  /** As it came. */
  body: Buffer;
}

function ask(
  path: string,
  headers: Record<string, string | string[]>,
  method = 'GET',
  body = '',
): Promise<Raw> {
  const { promise, resolve, reject } = Promise.withResolvers<Raw>();
  const type = body === '' ? {} : { 'content-type': 'application/json' };
  const sending = send(
    gateway.url + path,
    { method, headers: { ...bearer(), ...type, ...headers } },
    (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.once('error', reject).once('end', () => {
        resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(chunks) });
      });
    },
  );
  sending.once('error', reject).end(body);
  return promise;
}

const problemOf = ({ body }: Raw): { errors?: unknown } => JSON.parse(body.toString());

const base = '/api/v1/integration';
const sizedPath = (bytes: number): string => `${base}/products?limit=${bytes}`;
const plain = (bytes: number): string => JSON.stringify('x'.repeat(bytes - 2));

describe('a compressed answer', () => {
  it.each([
    ['gzip', gunzipSync],
    ['br', brotliDecompressSync],
    ['zstd', zstdDecompressSync],
  ] as const)(
    'by %s has the body of the plain answer, and the headers of compression',
    async (coding, decompress) => {
      const answer = await ask(sizedPath(50_000), { 'accept-encoding': coding });
      expect(answer).toMatchObject({
        status: 200,
        headers: {
          'content-encoding': coding,
          'content-type': 'application/json; charset=utf-8',
          vary: 'Accept-Encoding',
          link: '</x>; rel="next"',
          'content-length': String(answer.body.length),
        },
      });
      expect(decompress(answer.body).toString()).toBe(plain(50_000));
      expect(answer.body.length).toBeLessThan(5_000);
    },
  );

  it('is sent from 1 KiB on; an uncompressed answer of that size has the header Vary', async () => {
    for (const [bytes, vary, coding] of [
      [1_023, undefined, undefined],
      [1_024, 'Accept-Encoding', 'gzip'],
    ] as const) {
      const asked = await ask(sizedPath(bytes), { 'accept-encoding': 'gzip' });
      const unasked = await ask(sizedPath(bytes), {});
      expect([asked.headers.vary, asked.headers['content-encoding']]).toEqual([vary, coding]);
      expect([unasked.headers.vary, unasked.headers['content-encoding']]).toEqual([vary, undefined]);
      expect(unasked.body.toString()).toBe(plain(bytes));
    }
  });

  it('is not sent for an Accept-Encoding that is malformed, refuses compression or has 16 KB', async () => {
    const long = 'nonsense, '.repeat(1_500);
    for (const accept of ['identity', 'deflate', 'identity;q=0', '*;q=0', 'gzip;q=0', ';;;', long]) {
      const { status, headers, body } = await ask(sizedPath(2_000), { 'accept-encoding': accept });
      expect([status, headers['content-encoding'], body.toString()]).toEqual([200, undefined, plain(2_000)]);
    }
    const asked = await ask(sizedPath(2_000), { 'accept-encoding': `${long}gzip` });
    expect(asked.headers['content-encoding']).toBe('gzip');
    const several = await ask(sizedPath(2_000), { 'accept-encoding': ['identity;q=0.1', 'br'] });
    expect(several.headers['content-encoding']).toBe('br');
    // Headers beyond 16 KB in all are refused as ever.
    expect((await ask(sizedPath(2_000), { 'accept-encoding': 'gzip,'.repeat(4_000) })).status).toBe(431);
  });

  it('may be smaller than 1 KiB where the caller refuses the plain body', async () => {
    const answer = await ask(sizedPath(100), { 'accept-encoding': 'gzip, identity;q=0' });
    expect(answer.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
    expect(gunzipSync(answer.body).toString()).toBe(plain(100));
  });

  it('costs little for a refusal, which a caller without a token can cause', async () => {
    const used = process.cpuUsage();
    for (let times = 0; times < 20; times += 1) {
      const answer = await ask('/nothing', { 'accept-encoding': 'zstd, identity;q=0' });
      expect([answer.status, answer.headers['content-encoding']]).toEqual([404, 'zstd']);
    }
    const { user, system } = process.cpuUsage(used);
    // At the level of pages, 20 refusals take 1.7 s of processor time.
    expect((user + system) / 1_000).toBeLessThan(800);
  });

  it('to HEAD has the headers of the answer to GET, and no body', async () => {
    const headers = { 'accept-encoding': 'gzip' };
    const [got, head] = [await ask(sizedPath(9_000), headers), await ask(sizedPath(9_000), headers, 'HEAD')];
    expect(head.body).toHaveLength(0);
    for (const name of ['content-encoding', 'content-length', 'content-type', 'vary'])
      expect([name, head.headers[name]]).toEqual([name, got.headers[name]]);
  });

  it('is sent for HTML pages, and not for images', async () => {
    const page = await ask('/openapi.json', {});
    for (let times = 0; times < 2; times += 1) {
      const { headers, body } = await ask('/openapi.json', { 'accept-encoding': 'br' });
      expect(headers['content-encoding']).toBe('br');
      expect(brotliDecompressSync(body)).toEqual(page.body);
    }
    const script = await ask('/docs/swagger-ui-bundle.js', { 'accept-encoding': 'gzip' });
    expect(script.headers).toMatchObject({
      'content-encoding': 'gzip',
      vary: 'Accept-Encoding',
      'cache-control': 'public, max-age=3600',
    });
    const image = await ask('/docs/favicon-32x32.png', { 'accept-encoding': 'gzip' });
    expect(image.headers['content-encoding']).toBeUndefined();
  });
});

describe('strict handling', () => {
  const strict = { prefer: 'handling=strict' };

  it('reaches the service, and the answer has Preference-Applied', async () => {
    const answer = await ask(`${base}/suppliers?limit=1`, strict);
    const asked = JSON.parse(answer.body.toString()) as Asked;
    expect([answer.status, answer.headers['preference-applied']]).toEqual([200, 'handling=strict']);
    expect(asked.headers).toMatchObject({ handling: 'strict', query: 'limit=1' });
  });

  it.each([undefined, 'handling=lenient', 'respond-async', 'return=minimal', 'handling', '=;,"'])(
    'is not applied for the header %j',
    async (prefer) => {
      const query = '?externalID=L-1&limit=1';
      const answer = await ask(`${base}/suppliers${query}`, prefer === undefined ? {} : { prefer });
      const asked = JSON.parse(answer.body.toString()) as Asked;
      expect([answer.status, answer.headers['preference-applied']]).toEqual([200, undefined]);
      expect(asked.headers['query']).toBe('externalID=L-1&limit=1');
      expect(asked.headers).not.toHaveProperty('handling');
    },
  );

  it.each([
    ['GET', '/suppliers', 'externalID=L-1', 'externalId'],
    ['GET', '/suppliers', 'changed_since=2026-01-01', 'changedSince'],
    ['GET', '/products', 'detail=true', 'details'],
    ['GET', '/batches', 'Limit=5', 'limit'],
    ['HEAD', '/batches', 'untill=2026-01-01', 'until'],
    ['GET', '/dds', 'sinse=2026-01-01', 'since'],
    ['GET', '/sync-runs', 'entitytype=batch', 'entityType'],
    ['POST', '/suppliers', 'detials=true', 'details'],
    ['GET', '/webhook-events', 'pag=2', 'page'],
    ['GET', '/webhook-events/wh_1/deliveries', 'outcomes=failed', 'outcome'],
  ])('refuses the parameters of %s %s?%s, and names %s', async (method, path, query, nearest) => {
    const answer = await ask(`${base}${path}?${query}`, strict, method, method === 'POST' ? '{}' : '');
    const [name] = query.split('=');
    expect([answer.status, answer.headers['preference-applied']]).toEqual([400, 'handling=strict']);
    const detail = `unknown parameter "${name}": the nearest known one is "${nearest}"`;
    const told = method === 'HEAD' ? undefined : problemOf(answer).errors;
    expect(told).toEqual(method === 'HEAD' ? undefined : [{ pointer: name, detail }]);
  });

  it('refuses any parameter of a route without parameters, and names ten at most', async () => {
    const answer = await ask(`${base}/sync-runs/sync_1?limit=1`, strict);
    expect(problemOf(answer)).toMatchObject({
      errors: [{ pointer: 'limit', detail: 'unknown parameter "limit": none is known here' }],
    });
    const query = Array.from({ length: 1_000 }, (_, index) => `p${index}=1`).join('&');
    const many = problemOf(await ask(`${base}/suppliers?${query}`, strict));
    expect(many.errors).toHaveLength(10);
  });

  it('is applied after authentication, so that a caller without a token learns no names of parameters', async () => {
    const answer = await ask(`${base}/suppliers?externalID=1`, { ...strict, authorization: 'Bearer x' });
    expect([answer.status, answer.headers['preference-applied']]).toEqual([401, undefined]);
  });

  it('accepts the documented example of each route', async () => {
    for (const { method, path, query = [], body } of routes) {
      const known = query.map(({ name }) => `${name}=1`).join('&');
      const text = body === undefined ? '' : JSON.stringify(body.example);
      const answer = await ask(`${path.replaceAll(/\{\w+\}/g, 'wh_1')}?${known}`, strict, method, text);
      expect([path, answer.status]).toEqual([path, 200]);
      for (const key of Object.keys(body?.example ?? {}))
        expect(Object.keys(body?.schema.properties ?? {})).toContain(key);
    }
  });
});
