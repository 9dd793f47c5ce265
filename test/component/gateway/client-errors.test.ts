import { setTimeout as wait } from 'node:timers/promises';
import { subjects } from '@integration-sync/contracts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { token } from '../../support/access-tokens.ts';
import { echo, openReadyGateway, openServices, type TestGateway } from '../../support/gateway.ts';
import { startNats } from '../../support/nats.ts';
import { exchangeRaw, openRaw, type RawAnswer } from '../../support/raw-http.ts';

// Bytes that are not HTTP, or barely: the gateway refuses them on the socket, in the same form as every other
// refusal.

const stack = new AsyncDisposableStack();
let gateway: TestGateway;
let onAsked = (): void => undefined;
let held: Promise<void> | undefined;

/** From now on the service answers a list when the test calls `release`. */
function holdList(): { asked: Promise<void>; release: () => void } {
  const asked = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  onAsked = asked.resolve;
  held = gate.promise;
  return { asked: asked.promise, release: gate.resolve };
}

beforeAll(async () => {
  const nats = stack.use(await startNats());
  stack.use(
    await openServices(nats.url, {
      [subjects.suppliersList]: async (request) => {
        onAsked();
        await held;
        return echo(request);
      },
    }),
  );
  gateway = stack.use(await openReadyGateway(nats.url));
});
afterAll(() => stack.disposeAsync());

function expectClientError(answer: RawAnswer, status: number): void {
  expect(answer.status).toBe(status);
  expect(answer.headers).toMatchObject({
    'content-type': 'application/problem+json',
    'x-request-id': expect.stringMatching(/^[\da-f-]{36}$/),
    'cache-control': 'no-store',
    connection: 'close',
  });
  expect(JSON.parse(answer.body)).toMatchObject({
    type: 'urn:integration-sync:problem:invalid_request',
    status,
    code: 'invalid_request',
    detail: expect.stringMatching(/\.$/),
    requestId: answer.headers['x-request-id'],
  });
}

describe('headers', () => {
  it('of 64 KiB in all are answered 431', async () => {
    const large = 'x'.repeat(65_536);
    for (const header of [`x-large: ${large}`, `authorization: Bearer ${large}`, `${large}: x`]) {
      expectClientError(
        await exchangeRaw(gateway.port, `GET /healthz HTTP/1.1\r\nhost: x\r\n${header}\r\n\r\n`),
        431,
      );
    }
    expectClientError(
      await exchangeRaw(gateway.port, `GET /healthz?${large} HTTP/1.1\r\nhost: x\r\n\r\n`),
      431,
    );
  });

  it('of 12 KiB are accepted, as tokens can be long', async () => {
    const request = `GET /healthz HTTP/1.1\r\nhost: x\r\nx-large: ${'x'.repeat(12_288)}\r\n\r\n`;
    expect((await exchangeRaw(gateway.port, request)).status).toBe(200);
  });

  it('in a thousand lines are answered 200 or 431', async () => {
    const lines = Array.from({ length: 1_000 }, (_, at) => `x-${at}: x\r\n`).join('');
    const answer = await exchangeRaw(gateway.port, `GET /healthz HTTP/1.1\r\nhost: x\r\n${lines}\r\n`);
    expect([200, 431]).toContain(answer.status);
  });
});

describe('requests', () => {
  it.each([
    'hello\r\n\r\n',
    'GET\r\n\r\n',
    'GET /healthz HTTP/9.9\r\n\r\n',
    'FETCH /healthz HTTP/1.1\r\nhost: x\r\n\r\n',
    'GET /health z HTTP/1.1\r\nhost: x\r\n\r\n',
    'GET /healthz HTTP/1.1\r\nhost x\r\n\r\n',
    'GET /healthz HTTP/1.1\r\nhost: x\r\nbad\u0000name: x\r\n\r\n',
    'GET /healthz HTTP/1.1\r\nhost: x\r\nx: a\u0000b\r\n\r\n',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003',
  ])('with the bytes %j are answered 400', async (bytes) => {
    expectClientError(await exchangeRaw(gateway.port, Buffer.from(bytes, 'latin1')), 400);
  });

  it('without a Host header are answered 400 in HTTP/1.1, and accepted in HTTP/1.0', async () => {
    const answer = await exchangeRaw(gateway.port, 'GET /healthz HTTP/1.1\r\n\r\n');
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body)).toMatchObject({
      code: 'invalid_request',
      detail: expect.stringContaining('Host'),
    });
    expect((await exchangeRaw(gateway.port, 'GET /healthz HTTP/1.0\r\n\r\n')).status).toBe(200);
  });

  it.each(['host: x\r\nhost: y', 'host: x\r\nHOST: x'])(
    'with two Host headers (%j) are answered 400',
    async (hosts) => {
      const answer = await exchangeRaw(gateway.port, `GET /healthz HTTP/1.1\r\n${hosts}\r\n\r\n`);
      expect({ status: answer.status, code: JSON.parse(answer.body).code }).toEqual({
        status: 400,
        code: 'invalid_request',
      });
    },
  );

  it('that ask for an upgrade are answered as requests without an upgrade', async () => {
    const request = 'GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n';
    expect((await exchangeRaw(gateway.port, request)).status).toBe(200);
  });
});

describe('connections', () => {
  it('carry the answers to pipelined requests in order, and close after a malformed request', async () => {
    using connection = await openRaw(gateway.port);
    const authorization = `authorization: Bearer ${token()}\r\n`;
    connection.send(
      `GET /api/v1/integration/suppliers HTTP/1.1\r\nhost: x\r\n${authorization}\r\nGET /healthz HTTP/1.1\r\nhost: x\r\n\r\n`,
    );
    expect(JSON.parse((await connection.answer()).body)).toMatchObject({
      subject: 'svc.catalog.suppliers.list',
    });
    expect(JSON.parse((await connection.answer()).body)).toEqual({ status: 'ok' });
    connection.send(
      `GET /api/v1/integration/suppliers HTTP/1.1\r\nhost: x\r\n${authorization}\r\nbroken\r\n\r\n`,
    );
    const good = await connection.answer();
    expect({ status: good.status, connection: good.headers['connection'] }).toEqual({
      status: 200,
      connection: 'close',
    });
    await connection.closed;
  });

  const authorization = `authorization: Bearer ${token()}\r\n`;
  const list = `GET /api/v1/integration/suppliers HTTP/1.1\r\nhost: x\r\n${authorization}\r\n`;
  const push = `POST /api/v1/integration/suppliers HTTP/1.1\r\nhost: x\r\n${authorization}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`;
  const health = 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n';

  // Setup: a service still works on a request while more bytes follow on the same connection. What this
  // proves: the request gets its own answer, and so does each one before the malformed bytes; then the
  // gateway closes the connection.
  it.each<[string, string[], string[]]>([
    ['a CONNECT follows', ['CONNECT example.com:443 HTTP/1.1\r\nhost: x\r\n\r\n'], []],
    ['malformed chunks follow', [`${push}zz\r\n`], []],
    ['garbage follows', ['broken\r\n\r\n'], []],
    ['large headers follow', [`GET /healthz HTTP/1.1\r\nx: ${'x'.repeat(65_536)}\r\n\r\n`], []],
    ['garbage follows behind another request', [`${health}broken\r\n\r\n`], ['{"status":"ok"}']],
    ['garbage follows behind an answered request', [health, 'broken\r\n\r\n'], ['{"status":"ok"}']],
    ['malformed chunks follow behind an answered request', [health, `${push}zz\r\n`], ['{"status":"ok"}']],
  ])('carry the answer to a request under way although %s', async (_name, following, more) => {
    using connection = await openRaw(gateway.port);
    const { asked, release } = holdList();
    connection.send(list);
    await asked;
    for (const bytes of following) {
      connection.send(bytes);
      await wait(100);
    }
    release();
    expect(await connection.answer()).toMatchObject({
      status: 200,
      body: expect.stringContaining('svc.catalog.suppliers.list'),
    });
    for (const body of more) expect(await connection.answer()).toMatchObject({ status: 200, body });
    await connection.closed;
    await expect(connection.answer()).rejects.toThrow('closed without an answer');
    expect((await exchangeRaw(gateway.port, health)).status).toBe(200);
  });

  it('on which the client sends nothing stay open, and the next connection is served', async () => {
    using silent = await openRaw(gateway.port);
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
    expect(silent.socket.destroyed).toBe(false);
  });
});

it('each malformed request leaves one line in the log', async () => {
  const answer = await exchangeRaw(gateway.port, 'hello\r\n\r\n');
  const lines = gateway.lines.filter((line) => line['requestId'] === answer.headers['x-request-id']);
  expect(lines).toMatchObject([
    { status: 400, code: 'invalid_request', msg: 'a request could not be read to its end' },
  ]);
});
