import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bearer, token } from '../../support/access-tokens.ts';
import { awake } from '../../support/awake.ts';
import {
  askedBody,
  openReadyGateway,
  openServices,
  type Asked,
  type TestGateway,
} from '../../support/gateway.ts';
import { startNats } from '../../support/nats.ts';
import { expectProblem } from '../../support/problems.ts';
import { fastestMs } from '../../support/fastest-try.ts';
import { exchangeRaw, openRaw } from '../../support/raw-http.ts';

// Bodies as callers send them: whole, in chunks, too large, declared wrongly, slowly, and not at all.

const stack = new AsyncDisposableStack();
const bodyBytesMax = 5 * 1024 * 1024;
let gateway: TestGateway;
let impatient: TestGateway;

beforeAll(async () => {
  const nats = stack.use(await startNats());
  stack.use(await openServices(nats.url));
  gateway = stack.use(await openReadyGateway(nats.url));
  impatient = stack.use(await openReadyGateway(nats.url, { REQUEST_TIMEOUT_MS: '1000' }));
});
afterAll(() => stack.disposeAsync());

const path = '/api/v1/integration/suppliers';
const json = { 'content-type': 'application/json' };

const push = (
  body: string | Uint8Array<ArrayBuffer> | ReadableStream,
  headers: Record<string, string> = {},
): Promise<Response> =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { ...bearer(), ...json, ...headers },
    body,
    ...(body instanceof ReadableStream ? { duplex: 'half' } : {}),
  });

/** Reads the answer to its end as well: a connection with half an answer stays open. */
async function statusOf(response: Response): Promise<number> {
  await response.arrayBuffer();
  return response.status;
}

const head = (more: string, authorization = `Bearer ${token()}`): string =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\ncontent-type: application/json\r\n${more}\r\n`;

const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

const streamOf = (bytes: number): ReadableStream =>
  new ReadableStream({
    start(controller) {
      for (let sent = 0; sent < bytes; sent += 65_536) {
        controller.enqueue(new Uint8Array(Math.min(65_536, bytes - sent)).fill(32));
      }
      controller.close();
    },
  });

describe('the body that reaches the service', () => {
  it.each(['{}', '[]', 'not json', '{"a":"\u0000ä€😀"}', ' '.repeat(100_000)])(
    'is %j, byte for byte',
    async (body) => {
      const asked = (await (await push(body)).json()) as Asked;
      expect(askedBody(asked)).toBe(body);
    },
  );

  it('is the same byte for byte although it is not UTF-8', async () => {
    const asked = (await (await push(new Uint8Array([0xff, 0xfe, 0x00, 0x80]))).json()) as Asked;
    expect(asked.body).toBe(Buffer.from([0xff, 0xfe, 0x00, 0x80]).toString('base64'));
  });

  it('is joined from chunks', async () => {
    using connection = await openRaw(gateway.port);
    connection.send(head('transfer-encoding: chunked\r\n'));
    for (const text of ['{"sup', 'pliers', '":[]}']) {
      connection.send(chunk(text));
      await wait(20);
    }
    connection.send('0\r\n\r\n');
    const answer = await connection.answer();
    expect(askedBody(JSON.parse(answer.body))).toBe('{"suppliers":[]}');
  });

  it('is joined from a hundred thousand chunks of different sizes', async () => {
    const texts = Array.from({ length: 100_000 }, (_, at) =>
      at % 20_000 === 0 ? String(at).repeat(1_000) : String.fromCodePoint(97 + (at % 26)),
    );
    using connection = await openRaw(gateway.port);
    connection.send(`${head('transfer-encoding: chunked\r\n')}${texts.map(chunk).join('')}0\r\n\r\n`);
    const answer = await connection.answer(20_000);
    expect(askedBody(JSON.parse(answer.body)) === texts.join('')).toBe(true);
  });
});

describe('with bodies that are too large the gateway', () => {
  it('accepts a body of the limit, and refuses one more byte', async () => {
    expect(await statusOf(await push(new Uint8Array(bodyBytesMax)))).toBe(200);
    await expectProblem(await push(new Uint8Array(bodyBytesMax + 1)), {
      status: 413,
      code: 'body_too_large',
    });
  });

  it('counts chunked bodies, and answers a client that is still sending', async () => {
    expect(await statusOf(await push(streamOf(bodyBytesMax)))).toBe(200);
    await expectProblem(await push(streamOf(bodyBytesMax + 1)), { status: 413, code: 'body_too_large' });
    await expectProblem(await push(streamOf(12 * 1024 * 1024)), { status: 413, code: 'body_too_large' });
  });

  it('refuses a body by its Content-Length before the client sends it', async () => {
    const answer = await exchangeRaw(gateway.port, head(`content-length: ${bodyBytesMax + 1}\r\n`));
    expect(answer.status).toBe(413);
    expect(answer.headers['connection']).toBe('close');
  });

  it('serves other callers on other connections meanwhile', async () => {
    const answers = await Promise.all([push(streamOf(bodyBytesMax * 2)), push('{}')]);
    expect(await Promise.all(answers.map(statusOf))).toEqual([413, 200]);
  });
});

describe('with a bad token the gateway', () => {
  it('answers 401 to a client that sends everything before it reads', async () => {
    using connection = await openRaw(gateway.port);
    const bytes = 12 * 1024 * 1024;
    connection.send(head(`content-length: ${bytes}\r\n`, 'Bearer x'));
    connection.send(Buffer.alloc(bytes, 32));
    const answer = await connection.answer();
    expect({ status: answer.status, connection: answer.headers['connection'] }).toEqual({
      status: 401,
      connection: 'close',
    });
    await connection.closed;
  });

  it('answers before it has the body, and reads the rest for a bounded time', async () => {
    using connections = new DisposableStack();
    const closed: Promise<void>[] = [];
    const startedAt = awake();
    const answered = async (): Promise<void> => {
      const connection = connections.use(await openRaw(gateway.port));
      closed.push(connection.closed);
      connection.send(head('transfer-encoding: chunked\r\n', 'Bearer x'));
      expect((await connection.answer()).status).toBe(401);
    };
    expect(await fastestMs(5, answered)).toBeLessThan(500);
    await Promise.all(closed);
    expect(awake() - startedAt).toBeLessThan(5_000);
  });

  it('keeps the connection of a client that sent a small body', async () => {
    using connection = await openRaw(gateway.port);
    connection.send(`${head('content-length: 2\r\n', 'Bearer x')}{}`);
    expect((await connection.answer()).status).toBe(401);
    connection.send(`${head('content-length: 2\r\n')}{}`);
    expect((await connection.answer()).status).toBe(200);
  });

  it('does not answer 100 Continue', async () => {
    using connection = await openRaw(gateway.port);
    connection.send(head('content-length: 100\r\nexpect: 100-continue\r\n', 'Bearer x'));
    expect((await connection.answer()).status).toBe(401);
  });
});

describe('the header Expect', () => {
  it('is answered 100 Continue once the token is good', async () => {
    using connection = await openRaw(gateway.port);
    connection.send(head('content-length: 2\r\nexpect: 100-continue\r\n'));
    expect((await connection.answer()).status).toBe(100);
    connection.send('{}');
    expect((await connection.answer()).status).toBe(200);
  });

  it('is not answered 100 Continue for a body that is too large', async () => {
    const answer = await exchangeRaw(
      gateway.port,
      head(`content-length: ${bodyBytesMax + 1}\r\nexpect: 100-continue\r\n`),
    );
    expect(answer.status).toBe(413);
  });

  it('is ignored where its value is unknown, and in HTTP/1.0, which has no 100 Continue', async () => {
    const unknown = head('content-length: 2\r\nexpect: a miracle\r\n');
    const old = head('content-length: 2\r\nexpect: 100-continue\r\n').replace('HTTP/1.1', 'HTTP/1.0');
    for (const sent of [unknown, old])
      expect((await exchangeRaw(gateway.port, `${sent}{}`)).status).toBe(200);
  });
});

describe('wrong lengths', () => {
  it('a body shorter than declared is answered 408 and its connection closed', async () => {
    using connection = await openRaw(impatient.port);
    connection.send(`${head('content-length: 100\r\n')}{}`);
    const answer = await connection.answer();
    expect(answer.status).toBe(408);
    expect(answer.headers['content-type']).toBe('application/problem+json');
    const problem = JSON.parse(answer.body);
    expect(problem).toMatchObject({
      status: 408,
      code: 'invalid_request',
      requestId: answer.headers['x-request-id'],
    });
    await connection.closed;
  });

  it('bytes after the declared length are not part of the request', async () => {
    using connection = await openRaw(gateway.port);
    connection.send(`${head('content-length: 2\r\n')}{}{"more":true}`);
    const first = await connection.answer();
    expect({ status: first.status, body: askedBody(JSON.parse(first.body)) }).toEqual({
      status: 200,
      body: '{}',
    });
    await connection.closed;
  });

  it.each([
    'content-length: -1\r\n',
    'content-length: 1e1\r\n',
    'content-length: 2, 2\r\n',
    'content-length: 2\r\ncontent-length: 3\r\n',
    'content-length: 2\r\ntransfer-encoding: chunked\r\n',
    'transfer-encoding: gzip\r\n',
  ])('a request with the header lines %j is answered 400', async (lengths) => {
    const answer = await exchangeRaw(gateway.port, `${head(lengths)}{}`);
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body).code).toBe('invalid_request');
  });

  it('a body with another transfer coding beside chunked is answered 415', async () => {
    const answer = await exchangeRaw(
      gateway.port,
      `${head('transfer-encoding: gzip, chunked\r\n')}2\r\n{}\r\n0\r\n\r\n`,
    );
    expect({ status: answer.status, code: JSON.parse(answer.body).code }).toEqual({
      status: 415,
      code: 'unsupported_media_type',
    });
  });

  it('the transfer coding chunked is accepted in upper and lower case', async () => {
    const bytes = `${head('transfer-encoding: Chunked\r\n')}2\r\n{}\r\n0\r\n\r\n`;
    expect((await exchangeRaw(gateway.port, bytes)).status).toBe(200);
  });

  it('malformed chunks are answered 400, and the connection closed', async () => {
    using connection = await openRaw(gateway.port);
    connection.send(head('transfer-encoding: chunked\r\n'));
    connection.send('zz\r\n');
    const answer = await connection.answer();
    expect({ status: answer.status, code: JSON.parse(answer.body).code }).toEqual({
      status: 400,
      code: 'invalid_request',
    });
    await connection.closed;
  });

  it('a client that disconnects amid its body leaves one line in the log', async () => {
    using connection = await openRaw(gateway.port);
    connection.send(`${head('content-length: 100\r\nx-request-id: hung-up\r\n')}{}`);
    await wait(100);
    connection.socket.destroy();
    await expect
      .poll(() => gateway.lines.filter((line) => line['requestId'] === 'hung-up'))
      .toMatchObject([{ msg: 'request', status: 400, reason: 'HPE_INVALID_EOF_STATE' }]);
  });
});

describe('slow clients', () => {
  it('500 slow clients do not delay other clients', { timeout: 60_000 }, async () => {
    using slow = new DisposableStack();
    const connections = await Promise.all(Array.from({ length: 500 }, () => openRaw(gateway.port)));
    for (const connection of connections) {
      slow.use(connection);
      connection.send(head('content-length: 4000000\r\n'));
    }
    const dripping = setInterval(() => {
      for (const connection of connections) connection.send(' ');
    }, 200);
    slow.defer(() => clearInterval(dripping));

    const durationsMs: number[] = [];
    for (let count = 0; count < 100; count += 1) {
      const startedAt = performance.now();
      const answer = await push('{"suppliers":[]}');
      expect(answer.status).toBe(200);
      await answer.text();
      durationsMs.push(performance.now() - startedAt);
    }
    const median = durationsMs.toSorted((a, b) => a - b).at(50) ?? Infinity;
    expect(median).toBeLessThan(100);
    expect(connections.every(({ socket }) => !socket.destroyed)).toBe(true);
  });

  it('a client that never finishes the headers is answered 408 and cut off', async () => {
    using connection = await openRaw(impatient.port);
    connection.send(`POST ${path} HTTP/1.1\r\nhost: x\r\n`);
    const answer = await connection.answer();
    expect({ status: answer.status, code: JSON.parse(answer.body).code }).toEqual({
      status: 408,
      code: 'invalid_request',
    });
    await connection.closed;
  });
});
