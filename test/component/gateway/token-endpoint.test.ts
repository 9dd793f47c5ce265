import { randomUUID } from 'node:crypto';
import { allScopes } from '@integration-sync/contracts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { authSecret, goodClaims, signHs256 } from '../../support/access-tokens.ts';
import { clientEntry, clientsFile, testSecret, type TestClientsFile } from '../../support/clients.ts';
import { eventually } from '../../support/eventually.ts';
import { openReadyGateway, openServices, type TestGateway } from '../../support/gateway.ts';
import { startNats } from '../../support/nats.ts';
import { exchangeRaw, openRaw } from '../../support/raw-http.ts';

// The token endpoint of a real gateway: RFC 6749 client credentials, what it refuses, and how long a token is good.

const stack = new AsyncDisposableStack();
const readScope = 'integration:suppliers:read';
const writeScope = 'integration:suppliers:write';
const erp = testSecret();
const ended = testSecret('2026-01-01T00:00:00Z');
const odd = testSecret();
const oddId = 'a:b%2B +c'.replace(' ', '');
const entries = [
  clientEntry('erp', [erp.entry, ended.entry], { scope: `${readScope} ${writeScope}` }),
  clientEntry(oddId, [odd.entry], { integration: 'odd' }),
];
let file: TestClientsFile;
let gateway: TestGateway;
let natsUrl: string;
let nowMs: number | undefined;

beforeAll(async () => {
  const nats = stack.use(await startNats());
  natsUrl = nats.url;
  stack.use(await openServices(nats.url));
  file = stack.use(await clientsFile(entries));
  gateway = stack.use(await open());
});
afterAll(() => stack.disposeAsync());

const open = (settings: Record<string, string> = {}): Promise<TestGateway> =>
  openReadyGateway(
    natsUrl,
    { AUTH_CLIENTS_FILE: file.path, ...settings },
    { clientsEveryMs: 100, now: () => nowMs ?? Date.now() },
  );

type Form = Record<string, string>;
const grant: Form = { grant_type: 'client_credentials' };
const inForm = (id = 'erp', { secret } = erp): Form => ({ ...grant, client_id: id, client_secret: secret });
const basic = (id: string, secret: string): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
});
const encode = encodeURIComponent;

const ask = (
  body: Form | string,
  headers: Record<string, string> = {},
  { url }: TestGateway = gateway,
  path = '/oauth/token',
): Promise<Response> =>
  fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: typeof body === 'string' ? body : new URLSearchParams(body).toString(),
  });

interface Granted {
  access_token: string;
  token_type: string;
  expires_in: number;
  scope: string;
}

const fetchToken = async (...how: Parameters<typeof ask>): Promise<Granted> => {
  const answer = await ask(...how);
  expect(answer.status).toBe(200);
  return (await answer.json()) as Granted;
};

const partsOf = (token: string): Record<string, unknown>[] =>
  token
    .split('.')
    .slice(0, 2)
    .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>);

const list = (token: string, at: TestGateway = gateway): Promise<Response> =>
  fetch(`${at.url}/api/v1/integration/suppliers`, { headers: { authorization: `Bearer ${token}` } });

const push = (token: string): Promise<Response> =>
  fetch(`${gateway.url}/api/v1/integration/suppliers`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{"suppliers":[{"externalId":"S-1","name":"One"}]}',
  });

const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

async function expectRefusal(answer: Response, status: number, error: string): Promise<string> {
  const body = (await answer.json()) as Record<string, string>;
  expect({ status: answer.status, error: body['error'] }).toEqual({ status, error });
  expect(Object.keys(body)).toEqual(['error', 'error_description']);
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.headers.get('www-authenticate')).toBe(
    status === 401 ? 'Basic realm="integration-sync", charset="UTF-8"' : null,
  );
  return body['error_description'] ?? '';
}

describe('a token', () => {
  it('is a JWT by RFC 9068 for an hour, which names the client and is accepted', async () => {
    const answer = await ask(inForm());
    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('pragma')).toBe('no-cache');
    const granted = (await answer.json()) as Granted;
    expect(granted).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 3_600,
      scope: `${readScope} ${writeScope}`,
    });
    const [header, claims] = partsOf(granted.access_token);
    expect(header).toEqual({ alg: 'HS256', typ: 'at+jwt' });
    expect(claims).toEqual({
      iss: gateway.url,
      aud: gateway.url,
      sub: 'erp',
      client_id: 'erp',
      integration_id: 'acme',
      scope: `${readScope} ${writeScope}`,
      secret_id: expect.stringMatching(/^[\w-]{16}$/),
      jti: expect.stringMatching(/^[\da-f-]{36}$/),
      iat: expect.any(Number),
      exp: Number(claims?.['iat']) + 3_600,
    });
    expect(await (await list(granted.access_token)).json()).toMatchObject({
      headers: { integration: 'acme' },
    });
    const again = await fetchToken(inForm());
    expect(partsOf(again.access_token)[1]?.['jti']).not.toBe(claims?.['jti']);
  });

  it('has the issuer and the audience of the settings', async () => {
    const home = { AUTH_ISSUER: 'https://sync.example.com', AUTH_AUDIENCE: 'sync' };
    await using strict = await open(home);
    const { access_token: token } = await fetchToken(inForm(), {}, strict);
    expect(partsOf(token)[1]).toMatchObject({ iss: 'https://sync.example.com', aud: 'sync' });
    expect((await list(token, strict)).status).toBe(200);
    const { access_token: other } = await fetchToken(inForm());
    expect((await list(other, strict)).status).toBe(401);
  });

  it('is signed by the first of two secrets', async () => {
    const [first, second] = ['the-first', 'the-second'].map((name) => `${name}-secret-of-32-bytes-or-more`);
    await using both = await open({ AUTH_JWT_SECRET: `${first},${second}` });
    const { access_token: token } = await fetchToken(inForm(), {}, both);
    for (const [secret, status] of [
      [`${first},${second}`, 200],
      [first, 200],
      [second, 401],
    ] as const) {
      await using here = await open({ AUTH_JWT_SECRET: secret ?? '', AUTH_ISSUER: '', AUTH_AUDIENCE: '' });
      expect((await list(token, here)).status).toBe(status);
    }
  });

  it('may have an issuer that is no URL', async () => {
    await using named = await open({ AUTH_ISSUER: 'local' });
    const { access_token: token } = await fetchToken(inForm(), {}, named);
    expect(partsOf(token)[1]).toMatchObject({ iss: 'local', aud: named.url });
    expect((await list(token, named)).status).toBe(200);
  });

  it.each<[string, Form, Record<string, string>]>([
    ['by Basic', grant, basic('erp', erp.secret)],
    ['by Basic, with underscores form-encoded', grant, basic('erp', erp.secret.replaceAll('_', '%5F'))],
    ['by Basic, beside its own id in the form', { ...grant, client_id: 'erp' }, basic('erp', erp.secret)],
    [
      'by Basic, in any spelling',
      grant,
      { authorization: basic('erp', erp.secret)['authorization']?.replace('Basic', 'bAsIc') ?? '' },
    ],
    ['by Basic, for an id with a colon and a percent sign', grant, basic(encode(oddId), odd.secret)],
    ['in the form, for the same id', inForm(oddId, odd), {}],
    ['beside parameters that mean nothing here', { ...inForm(), resource: 'x', audience: 'y' }, {}],
    ['beside a parameter without a value', { ...inForm(), scope: '' }, {}],
    ['with a charset', inForm(), { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' }],
  ])('is fetched %s', async (_name, form, headers) => {
    const { access_token: token } = await fetchToken(form, headers);
    expect((await list(token)).status).toBe(200);
  });

  it('is fetched by a client that waits for 100 Continue, and by a client that sends chunks', async () => {
    using connection = await openRaw(gateway.port);
    const body = new URLSearchParams(inForm()).toString();
    connection.send(
      'POST /oauth/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\n' +
        'transfer-encoding: chunked\r\nexpect: 100-continue\r\n\r\n',
    );
    expect((await connection.answer()).status).toBe(100);
    for (const char of body) connection.send(`1\r\n${char}\r\n`);
    connection.send('0\r\n\r\n');
    expect((await connection.answer()).status).toBe(200);
  });

  it('is fetched with a form of 8 KiB, and refused for a form of one byte more', async () => {
    const rest = `${new URLSearchParams(inForm()).toString()}&padding=`;
    const form = rest.padEnd(8 * 1_024, 'x');
    await fetchToken(form);
    const description = await expectRefusal(await ask(`${form}x`), 400, 'invalid_request');
    expect(description).toBe('The form is larger than 8192 bytes.');
  });

  it('has only the requested scopes of its client', async () => {
    const granted = await fetchToken({ ...inForm(), scope: ` ${writeScope} ${writeScope}` });
    expect(granted.scope).toBe(writeScope);
    expect((await list(granted.access_token)).status).toBe(403);
  });

  it('ends after an hour, and not later than the secret that fetched it', async () => {
    const begunAt = Date.now();
    const short = testSecret(new Date(Math.floor(begunAt / 1_000) * 1_000 + 600_000).toISOString());
    await file.replace([...entries, clientEntry('short', [short.entry])]);
    nowMs = begunAt;
    try {
      const hour = await fetchToken(inForm());
      const minutes = await eventually(
        async () => (await ask(inForm('short', short))).json() as Promise<Partial<Granted>>,
        ({ access_token: token }) => token !== undefined,
      );
      expect(minutes.expires_in).toBeLessThanOrEqual(600);
      expect(minutes.expires_in).toBeGreaterThan(590);
      nowMs = begunAt + 599_000;
      expect((await list(minutes.access_token ?? '')).status).toBe(200);
      nowMs = begunAt + 600_000;
      expect((await list(minutes.access_token ?? '')).status).toBe(401);
      expect((await list(hour.access_token)).status).toBe(200);
      nowMs = begunAt + 3_600_000;
      expect((await list(hour.access_token)).status).toBe(401);
    } finally {
      nowMs = undefined;
      await file.replace(entries);
    }
  });

  it('of five minutes, renewed just before it ends, pushes for an hour without a refusal', async () => {
    const begunAt = Date.now();
    const statuses = new Map<number, number>();
    const used: string[] = [];
    let endsAt = begunAt;
    try {
      for (nowMs = begunAt; nowMs < begunAt + 3_600_000; nowMs += 5_000) {
        if (nowMs >= endsAt - 5_000) {
          const iat = Math.floor(nowMs / 1_000);
          endsAt = (iat + 300) * 1_000;
          used.push(signHs256(goodClaims({ iat, exp: iat + 300 })));
        }
        const { status } = await push(used.at(-1) ?? '');
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
      expect(statuses).toEqual(new Map([[200, 720]]));
      expect(used.length).toBeGreaterThanOrEqual(12);
      for (const token of used.slice(0, -1)) expect((await push(token)).status).toBe(401);
    } finally {
      nowMs = undefined;
    }
  });
});

describe('a token that a client fetched', () => {
  const { secret, entry } = testSecret();
  const spare = testSecret();
  const form = { ...grant, client_id: 'own', client_secret: secret };

  it.each<[string, unknown[], number]>([
    ['its secret is removed', [clientEntry('own', [spare.entry])], 401],
    ['its secret goes to another client', [clientEntry('new', [entry])], 401],
    ['its secret has ended', [clientEntry('own', [{ ...entry, expiresAt: '2026-01-01T00:00:00Z' }])], 401],
    ['its client is removed', [], 401],
    ['its client has another scope', [clientEntry('own', [entry], { scope: writeScope })], 403],
  ])('is refused where %s', async (_name, after, status) => {
    await using own = await clientsFile([clientEntry('own', [entry])]);
    await using here = await open({ AUTH_CLIENTS_FILE: own.path });
    const { access_token: token } = await fetchToken(form, {}, here);
    const bystander = signHs256({ ...partsOf(token)[1], secret_id: undefined });
    expect((await list(token, here)).status).toBe(200);
    await own.replace(after);
    await eventually(
      async () => (await list(token, here)).status,
      (seen) => seen === status,
    );
    expect((await list(bystander, here)).status).toBe(200);
  });

  it('ends at the end of its secret, also if the end was set later: GET /token shows this end', async () => {
    await using own = await clientsFile([clientEntry('own', [entry])]);
    await using here = await open({ AUTH_CLIENTS_FILE: own.path });
    const { access_token: token } = await fetchToken(form, {}, here);
    const expiresAt = new Date(Date.now() + 600_000).toISOString();
    await own.replace([clientEntry('own', [{ ...entry, expiresAt }])]);
    const headers = { authorization: `Bearer ${token}` };
    const described = async (): Promise<unknown> => (await fetch(`${here.url}/token`, { headers })).json();
    await expect.poll(described, { timeout: 10_000 }).toMatchObject({ expiresAt });
  });

  it.each<[string, Record<string, unknown>]>([
    ['names another secret', { secret_id: 'AAAAAAAAAAAAAAAA' }],
    ['names its secret as a number', { secret_id: 7 }],
    ['names its secret as null', { secret_id: null }],
    ['names another client', { client_id: 'rival' }],
    ['names no client', { client_id: undefined }],
  ])('is refused where it is forged and %s', async (_name, changed) => {
    const [, claims = {}] = partsOf((await fetchToken(inForm())).access_token);
    expect((await list(signHs256(claims))).status).toBe(200);
    expect((await list(signHs256({ ...claims, ...changed }))).status).toBe(401);
  });

  it('allows only the integration and the scopes of its client, although a forged token names others', async () => {
    const [, claims = {}] = partsOf((await fetchToken(inForm())).access_token);
    const forged = signHs256({ ...claims, integration_id: 'rival', scope: 'integration:webhooks:read' });
    expect((await list(forged)).status).toBe(403);
    const other = signHs256({ ...claims, integration_id: 'rival' });
    expect(await (await list(other)).json()).toMatchObject({ headers: { integration: 'acme' } });
  });
});

describe('refusals of the token endpoint', () => {
  const stranger = testSecret();
  const typing = `${erp.secret.slice(0, -1)}${erp.secret.endsWith('0') ? '1' : '0'}`;
  const wrong = 'The client id or its secret is wrong, or the secret has ended.';

  it.each<[string, Form | string, Record<string, string>, number, string]>([
    ['no form', '', {}, 400, 'invalid_request'],
    ['no grant_type', { ...inForm(), grant_type: '' }, {}, 400, 'invalid_request'],
    [
      'a repeated parameter',
      `${new URLSearchParams(inForm()).toString()}&scope=${readScope}&scope=${readScope}`,
      {},
      400,
      'invalid_request',
    ],
    [
      'a repeated secret',
      `${new URLSearchParams(inForm()).toString()}&client_secret=x`,
      {},
      400,
      'invalid_request',
    ],
    [
      'a repeated parameter, once encoded',
      `${new URLSearchParams(inForm()).toString()}&grant%5Ftype=client_credentials`,
      {},
      400,
      'invalid_request',
    ],
    ['a form that cannot be decoded', 'grant_type=%zz', {}, 400, 'invalid_request'],
    [
      'a form that is JSON',
      JSON.stringify(inForm()),
      { 'content-type': 'application/json' },
      400,
      'invalid_request',
    ],
    [
      'a form of several parts',
      inForm(),
      { 'content-type': 'multipart/form-data; boundary=x' },
      400,
      'invalid_request',
    ],
    [
      'a form in Latin-1',
      inForm(),
      { 'content-type': 'application/x-www-form-urlencoded; charset=latin1' },
      400,
      'invalid_request',
    ],
    ['a compressed form', inForm(), { 'content-encoding': 'gzip' }, 400, 'invalid_request'],
    [
      'a form whose type only begins as it should',
      inForm(),
      { 'content-type': 'application/x-www-form-urlencoded-not' },
      400,
      'invalid_request',
    ],
    ['a form whose type is none', inForm(), { 'content-type': 'form' }, 400, 'invalid_request'],
    ['two methods', inForm(), basic('erp', erp.secret), 400, 'invalid_request'],
    [
      'Basic beside another id',
      { ...grant, client_id: 'rival' },
      basic('erp', erp.secret),
      400,
      'invalid_request',
    ],
    ['a grant of passwords', { ...inForm(), grant_type: 'password' }, {}, 400, 'unsupported_grant_type'],
    [
      'a grant of refresh tokens',
      { ...inForm(), grant_type: 'refresh_token' },
      {},
      400,
      'unsupported_grant_type',
    ],
    [
      'a scope that the client lacks',
      { ...inForm(), scope: `${readScope} integration:webhooks:read` },
      {},
      400,
      'invalid_scope',
    ],
    ['a scope that there is not', { ...inForm(), scope: 'everything' }, {}, 400, 'invalid_scope'],
    ['a scope of spaces', { ...inForm(), scope: '  ' }, {}, 400, 'invalid_scope'],
    ['no credentials', grant, {}, 401, 'invalid_client'],
    ['an id alone', { ...grant, client_id: 'erp' }, {}, 401, 'invalid_client'],
    [
      'an assertion',
      { ...grant, client_assertion: 'x', client_assertion_type: 'y' },
      {},
      401,
      'invalid_client',
    ],
    ['a key as bearer', grant, { authorization: `Bearer ${erp.secret}` }, 401, 'invalid_client'],
    [
      'Basic without a colon',
      grant,
      { authorization: `Basic ${Buffer.from('erp').toString('base64')}` },
      401,
      'invalid_client',
    ],
    ['Basic that cannot be decoded', grant, basic('erp', '%zz'), 400, 'invalid_request'],
  ])('have an error of their own for %s', async (_name, form, headers, status, error) => {
    const description = await expectRefusal(await ask(form, headers), status, error);
    expect(description).not.toBe(wrong);
  });

  it.each<[string, Form]>([
    ['a wrong checksum', inForm('erp', { ...erp, secret: typing })],
    ['the secret of no client', inForm('erp', stranger)],
    ['the secret of another client', inForm('erp', odd)],
    ['a secret that has ended', inForm('erp', ended)],
    ['the hash of the secret', inForm('erp', { ...erp, secret: erp.entry.sha256 })],
    ['the id of no client', inForm('nobody')],
    ['an id in other letters', inForm('ERP')],
    ['the id __proto__', inForm('__proto__')],
  ])('%s: the same answer for each wrong credential', async (_name, form) => {
    expect(await expectRefusal(await ask(form), 401, 'invalid_client')).toBe(wrong);
  });

  it.each(['client_id=erp', `client_secret=${erp.secret}`, 'grant_type=client_credentials', 'x'])(
    'a query in the URL is refused, as %s',
    async (query) => {
      const answer = await ask(inForm(), {}, gateway, `/oauth/token?${query}`);
      await expectRefusal(answer, 400, 'invalid_request');
    },
  );

  it('two Authorization headers are refused, also when both are right', async () => {
    const body = 'grant_type=client_credentials';
    const header = `authorization: ${basic('erp', erp.secret)['authorization']}\r\n`;
    const send = (headers: string) =>
      exchangeRaw(
        gateway.port,
        `POST /oauth/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\n` +
          `content-length: ${body.length}\r\n${headers}\r\n${body}`,
      );
    expect((await send(header)).status).toBe(200);
    const twice = await send(header + header);
    expect(twice.status).toBe(400);
    expect(JSON.parse(twice.body)).toMatchObject({ error: 'invalid_request' });
  });

  describe('a form over 8 KiB', () => {
    const head =
      'POST /oauth/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\n';
    const tooLarge = expect.objectContaining({
      error: 'invalid_request',
      error_description: 'The form is larger than 8192 bytes.',
    });

    it('is refused by its Content-Length before it is sent', async () => {
      using connection = await openRaw(gateway.port);
      connection.send(`${head}content-length: 8193\r\nexpect: 100-continue\r\n\r\n`);
      const { status, body } = await connection.answer();
      expect([status, JSON.parse(body)]).toEqual([400, tooLarge]);
    });

    it('in chunks is refused at the first chunk beyond the limit', async () => {
      using connection = await openRaw(gateway.port);
      const form = `${new URLSearchParams(inForm()).toString()}&padding=`;
      connection.send(`${head}transfer-encoding: chunked\r\n\r\n${chunk(form)}`);
      connection.send(chunk('x'.repeat(8_192 - form.length)) + chunk('x'));
      const { status, body, headers } = await connection.answer();
      expect([status, JSON.parse(body)]).toEqual([400, tooLarge]);
      // What still comes is read and dropped before the connection closes, so that no reset overtakes the answer.
      expect(headers['connection']).toBe('close');
    });
  });

  it('a caller that disconnects while it sends its form is not logged as a fault of the gateway', async () => {
    const id = randomUUID();
    {
      using connection = await openRaw(gateway.port);
      connection.send(
        'POST /oauth/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\n' +
          `x-request-id: ${id}\r\ncontent-length: 100\r\nexpect: 100-continue\r\n\r\n`,
      );
      expect((await connection.answer()).status).toBe(100);
      connection.send('grant_type=');
    }
    const lines = await eventually(
      async () => gateway.lines.filter(({ requestId }) => requestId === id),
      ({ length }) => length > 0,
    );
    expect(lines).toMatchObject([{ level: 'info', code: 'invalid_request', bytesIn: 11 }]);
  });

  it.each([
    ['integration:webhooks:read', 'The client does not have all of these scopes.'],
    [`${readScope} everything`, 'There is no such scope.'],
  ])('the scope %s is refused as invalid_scope with a description of its own', async (scope, words) => {
    expect(await expectRefusal(await ask({ ...inForm(), scope }), 400, 'invalid_scope')).toBe(words);
  });

  it.each<[string, Form, Record<string, unknown>]>([
    ['a grant', inForm(), { status: 200, code: undefined, refusal: undefined }],
    ['no form', {}, { status: 400, code: 'invalid_request' }],
    ['a wrong secret', inForm('erp', stranger), { status: 401, code: 'unauthorized', refusal: wrong }],
  ])('%s: the log line says what was answered, and why', async (_name, form, expected) => {
    const body = new URLSearchParams(form).toString();
    const id = (await ask(body)).headers.get('x-request-id');
    const line = await eventually(
      async () => gateway.lines.find(({ requestId }) => requestId === id),
      (found) => found !== undefined,
    );
    expect({ code: undefined, refusal: undefined, ...line }).toMatchObject({
      ...expected,
      bytesIn: body.length,
    });
  });

  it('another method is 405 with the right method in Allow', async () => {
    const answer = await fetch(`${gateway.url}/oauth/token`);
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it('show no secret, no token and no hash in the log and the metrics', async () => {
    const { access_token: token } = await fetchToken(inForm());
    const said = gateway.logText() + (await (await fetch(gateway.metricsUrl)).text());
    const hidden = [erp, odd, ended, stranger].flatMap(({ secret, entry }) => [
      secret.slice(13),
      entry.sha256,
    ]);
    hidden.push(
      typing.slice(13),
      authSecret,
      token.split('.')[2] ?? '',
      basic('erp', erp.secret)['authorization'] ?? '',
    );
    for (const text of hidden) expect(said).not.toContain(text);
    expect(gateway.lines).toContainEqual(
      expect.objectContaining({ route: '/oauth/token', status: 200, client: 'erp', key: erp.name }),
    );
  });
});

describe('wrong secrets', () => {
  const bad = testSecret();

  it('are answered 429 from the 31st wrong secret of a minute on, while the right secret and other clients are served', async () => {
    const begunAt = Date.now();
    nowMs = begunAt;
    try {
      await using here = await open();
      const wrong = (id = 'erp') => ask(inForm(id, bad), {}, here);
      for (let count = 1; count <= 30; count += 1) await expectRefusal(await wrong(), 401, 'invalid_client');
      nowMs = begunAt + 20_000;
      const limited = await wrong();
      expect(limited.headers.get('retry-after')).toBe('40');
      await expectRefusal(limited, 429, 'invalid_client');
      const line = { route: '/oauth/token', status: 429, code: 'rate_limited' };
      await expect.poll(() => here.lines).toContainEqual(expect.objectContaining(line));
      await fetchToken(inForm(), {}, here);
      await fetchToken(grant, basic('erp', erp.secret), here);
      await expectRefusal(await wrong(oddId), 401, 'invalid_client');
      await expectRefusal(await wrong('nobody'), 401, 'invalid_client');
      nowMs = begunAt + 60_000;
      await expectRefusal(await wrong(), 401, 'invalid_client');
    } finally {
      nowMs = undefined;
    }
  });

  it('for unknown client ids count together', async () => {
    await using here = await open();
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, at) => ask(inForm(`nobody-${at}`, bad), {}, here)),
    );
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(10);
    await fetchToken(inForm(), {}, here);
  });

  it('over the limit are answered a second late, and do not delay the right secret', async () => {
    await using here = await open();
    await Promise.all(Array.from({ length: 30 }, () => ask(inForm('erp', bad), {}, here)));
    const startedAt = performance.now();
    let answered = 0;
    const limited = Array.from({ length: 50 }, async () => {
      const { status } = await ask(inForm('erp', bad), {}, here);
      answered += 1;
      return { status, isLate: performance.now() - startedAt >= 990 };
    });
    await fetchToken(inForm(), {}, here);
    expect(answered).toBe(0);
    expect(await Promise.all(limited)).toEqual(limited.map(() => ({ status: 429, isLate: true })));
  });

  it('on fifty concurrent connections do not refuse the right secret', async () => {
    await using here = await open();
    const over = new AbortController();
    const floods = Array.from({ length: 50 }, async () => {
      while (!over.signal.aborted) await (await ask(inForm('erp', bad), {}, here)).arrayBuffer();
    });
    try {
      for (let count = 0; count < 20; count += 1) {
        const { access_token: token } = await fetchToken(inForm(), {}, here);
        expect((await list(token, here)).status).toBe(200);
      }
    } finally {
      over.abort();
    }
    await Promise.all(floods);
  });
});

describe('the OAuth metadata of the gateway', () => {
  const path = '/.well-known/oauth-authorization-server';

  it('name the token endpoint at the host of the request', async () => {
    const answer = await fetch(gateway.url + path);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({
      issuer: gateway.url,
      token_endpoint: `${gateway.url}/oauth/token`,
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
      grant_types_supported: ['client_credentials'],
      response_types_supported: [],
      scopes_supported: allScopes,
    });
  });

  it.each([
    [{ AUTH_ISSUER: 'https://sync.example.com/base/' }, /^https:\/\/sync\.example\.com\/base\/oauth\/token$/],
    [{ PUBLIC_BASE_PATH: '/sync' }, /^http:\/\/127\.0\.0\.1:\d+\/sync\/oauth\/token$/],
    [{ AUTH_ISSUER: 'local' }, /^http:\/\/127\.0\.0\.1:\d+\/oauth\/token$/],
  ])('with %j name the public address', async (settings, endpoint) => {
    await using here = await open(settings);
    const metadata = (await (await fetch(here.url + path)).json()) as { token_endpoint: string };
    expect(metadata.token_endpoint).toMatch(endpoint);
  });

  it.each(['a b"c', 'x/y', 'user@x', 'x?y', 'x:99999', '[x'])(
    'for the invalid Host %s are refused',
    async (host) => {
      const answer = await exchangeRaw(gateway.port, `GET ${path} HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
      expect(answer.status).toBe(400);
      expect(answer.body).not.toContain(host);
      expect(JSON.parse(answer.body)).toMatchObject({ error: 'invalid_request' });
    },
  );
});
