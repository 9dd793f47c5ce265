import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { authSecret, goodClaims, nowSeconds, signHs256, token } from '../../support/access-tokens.ts';
import { forgeries, type Forgery } from '../../support/forgeries.ts';
import { openGateway, openServices, type TestGateway } from '../../support/gateway.ts';
import { startNats } from '../../support/nats.ts';
import { expectProblem } from '../../support/problems.ts';
import { exchangeRaw } from '../../support/raw-http.ts';
import { unlessBusy } from '../../support/unless-busy.ts';

// Forged and odd tokens against a gateway that checks issuer and audience. Each stands beside its good twin,
// which differs in that one thing.

const stack = new AsyncDisposableStack();
const issuer = 'https://login.example.com';
const audience = 'integration-sync';
const home = { iss: issuer, aud: audience };
let gateway: TestGateway;
let nowMs: number | undefined;

beforeAll(async () => {
  const nats = stack.use(await startNats());
  stack.use(await openServices(nats.url));
  const settings = { AUTH_ISSUER: issuer, AUTH_AUDIENCE: audience };
  gateway = stack.use(await openGateway(nats.url, settings, { now: () => nowMs ?? Date.now() }));
});
afterAll(() => stack.disposeAsync());

const list = (authorization: string): Promise<Response> =>
  unlessBusy(() => fetch(`${gateway.url}/api/v1/integration/suppliers`, { headers: { authorization } }));

const claims = (changed: Record<string, unknown> = {}) => goodClaims({ ...home, ...changed });
const good = () => signHs256(claims());
const [goodHeader = '', , goodSignature = ''] = signHs256(claims()).split('.');

describe('valid tokens are accepted', () => {
  it.each<[string, () => string]>([
    ['signed with HS256', good],
    ['with scopes as an array', () => signHs256(claims({ scope: ['integration:suppliers:read'] }))],
    [
      'living for exactly 24 h',
      () => {
        const iat = nowSeconds();
        return signHs256(claims({ iat, exp: iat + 86_400 }));
      },
    ],
    ['without iat', () => signHs256(claims({ iat: undefined }))],
    ['issued 30 s ahead of the gateway’s clock', () => signHs256(claims({ iat: nowSeconds() + 30 }))],
    ['valid from 30 s ahead of the gateway’s clock', () => signHs256(claims({ nbf: nowSeconds() + 30 }))],
    ['for several audiences', () => signHs256(claims({ aud: ['other', audience] }))],
    ['of the integration __proto__', () => signHs256(claims({ integration_id: '__proto__' }))],
    [
      'with a kid, a jku and a jwk that mean nothing here',
      () =>
        signHs256(claims(), {
          kid: '../../dev/null',
          jku: 'http://127.0.0.1:1/keys',
          jwk: { kty: 'oct', k: 'eA' },
        }),
    ],
    ['with unknown claims', () => signHs256(claims({ sub: 'x', roles: ['admin'] }))],
  ])('%s: accepted', async (_name, make) => {
    expect((await list(`Bearer ${make()}`)).status).toBe(200);
  });

  it('with the scheme Bearer in upper, lower or mixed case', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER'])
      expect((await list(`${scheme} ${good()}`)).status).toBe(200);
  });
});

describe('forged and odd tokens', () => {
  it.each<Forgery>([
    ...forgeries({ claims, sign: signHs256, hmacSecret: authSecret, integration: 'integration_id' }),
    ['a scope that is a number', () => signHs256(claims({ scope: 7 }))],
    ['a scope that is an object', () => signHs256(claims({ scope: { 'integration:suppliers:read': true } }))],
  ])('%s: 401 without the reason', async (_name, make) => {
    const answer = await list(`Bearer ${make()}`);
    const problem = await expectProblem(answer, {
      status: 401,
      code: 'unauthorized',
      headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
    });
    expect(problem['detail']).toBe('The access token is not valid.');
  });

  it.each(['Basic YTpi', 'Bearer', 'Bearer ', 'Bearer a b', 'Bearer a,b', 'Token x', 'x'])(
    'the header %j: 401 invalid_token',
    async (authorization) => {
      await expectProblem(await list(authorization), {
        status: 401,
        code: 'unauthorized',
        headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
      });
    },
  );

  it('two Authorization headers are answered 401, also when both are valid', async () => {
    const header = `authorization: Bearer ${good()}\r\n`;
    const request = `GET /api/v1/integration/suppliers HTTP/1.1\r\nhost: x\r\n`;
    expect((await exchangeRaw(gateway.port, `${request}${header}\r\n`)).status).toBe(200);
    const twice = await exchangeRaw(gateway.port, `${request}${header}${header}\r\n`);
    expect(twice).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
    });
  });

  it.each(['access_token', 'token', 'authorization', 'bearer'])(
    'the gateway ignores a token in the query as %s',
    async (name) => {
      const answer = await fetch(`${gateway.url}/api/v1/integration/suppliers?${name}=${good()}`);
      await expectProblem(answer, {
        status: 401,
        code: 'unauthorized',
        headers: { 'www-authenticate': 'Bearer' },
      });
      expect(gateway.logText()).not.toContain(goodSignature);
    },
  );
});

const statusOf = (path: string, method: string, token_: string): Promise<number> =>
  fetch(`${gateway.url}/api/v1/integration/webhook-events${path}`, {
    method,
    headers: { authorization: `Bearer ${token_}` },
  }).then(({ status }) => status);

describe('scopes', () => {
  it.each([
    undefined,
    '',
    'integration:suppliers:write',
    'integration:suppliers',
    'integration:suppliers:reads',
    'xintegration:suppliers:read',
    'integration:suppliers:read2',
    'INTEGRATION:SUPPLIERS:READ',
    'integration:suppliers:*',
    'integration:*',
    '*',
    'integration:suppliers:read,integration:products:read',
    ['integration:suppliers:read integration:products:read'],
    [],
  ])('%j does not allow reading suppliers: 403', async (scope) => {
    await expectProblem(await list(`Bearer ${signHs256(claims({ scope }))}`), {
      status: 403,
      code: 'insufficient_scope',
      headers: {
        'www-authenticate': 'Bearer error="insufficient_scope", scope="integration:suppliers:read"',
      },
    });
  });

  it('each route asks for its own scope and accepts no other', async () => {
    const writeOnly = token({ ...home, scope: 'integration:webhooks:write' });
    const readOnly = token({ ...home, scope: 'integration:webhooks:read' });
    expect(await statusOf('', 'GET', readOnly)).toBe(200);
    expect(await statusOf('', 'GET', writeOnly)).toBe(403);
    expect(await statusOf('/wh_1', 'DELETE', writeOnly)).toBe(200);
    expect(await statusOf('/wh_1', 'DELETE', readOnly)).toBe(403);
    expect(await statusOf('/wh_1/test', 'POST', writeOnly)).toBe(200);
    expect(await statusOf('/wh_1/test', 'POST', readOnly)).toBe(403);
  });

  it.each([
    ['integration:suppliers:read', 200],
    ['integration:suppliers:write', 200],
    ['integration:suppliers:erase', 403],
    ['integration:products:read integration:products:write', 403],
  ])('with only %s the plan route of suppliers answers %d', async (scope, status) => {
    const answer = await unlessBusy(() =>
      fetch(`${gateway.url}/api/v1/integration/suppliers/plan`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token({ ...home, scope })}`, 'content-type': 'application/json' },
        body: '{"suppliers":[]}',
      }),
    );
    expect(answer.status).toBe(status);
  });
});

describe('a cached token', () => {
  it('is refused from the second of its exp on', async () => {
    nowMs = Date.now();
    try {
      const expiring = signHs256(claims({ exp: Math.floor(nowMs / 1_000) + 2 }));
      expect((await list(`Bearer ${expiring}`)).status).toBe(200);
      nowMs += 2_000;
      expect((await list(`Bearer ${expiring}`)).status).toBe(401);
      expect((await list(`Bearer ${good()}`)).status).toBe(200);
    } finally {
      nowMs = undefined;
    }
  });

  it('is not used for a token of another integration', async () => {
    const [first, second] = await Promise.all(
      ['one', 'two'].map((id) => list(`Bearer ${signHs256(claims({ integration_id: id }))}`)),
    );
    expect(await first?.json()).toMatchObject({ headers: { integration: 'one' } });
    expect(await second?.json()).toMatchObject({ headers: { integration: 'two' } });
  });
});

it('the log has the reason of a refusal, and not the token', async () => {
  const answer = await list(`Bearer ${signHs256(claims({ iss: 'elsewhere' }))}`);
  const id = answer.headers.get('x-request-id');
  expect(gateway.lines.find((line) => line['requestId'] === id)).toMatchObject({
    status: 401,
    code: 'unauthorized',
    refusal: 'The iss claim value is not allowed.',
  });
  expect(gateway.logText()).not.toContain(goodHeader);
  expect(gateway.logText()).not.toContain(authSecret);
});
