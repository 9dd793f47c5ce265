// Every way in which a receiver can behave, each with a receiver of its own, side by side. The attempt log
// says how each attempt ended, and a well-behaved receiver beside it is not disturbed.
import { createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeCertificate, type Certificate } from '../../support/certificates.ts';
import { awake } from '../../support/awake.ts';
import { eventually } from '../../support/eventually.ts';
import { answer, breakKept, hang, openReceiver, type Behaviour } from '../../support/receiver.ts';
import { openHouse, type AnswerBody, type Client, type House } from '../../support/webhooks.ts';
import { listen } from '../../support/servers.ts';

let house: House;
let trusted: Certificate;
let stranger: Certificate;
let elsewhere: Certificate;
beforeAll(async () => {
  house = await openHouse();
  trusted = await makeCertificate('IP:127.0.0.1', 'DNS:receiver.test');
  stranger = await makeCertificate('IP:127.0.0.1');
  elsewhere = await makeCertificate('DNS:elsewhere.test');
  await house.start({
    ca: `${trusted.cert}${elsewhere.cert}`,
    resolve: async (name) => {
      if (name === 'two.test') return ['127.0.0.2', '127.0.0.1'];
      if (name !== 'receiver.test') throw new Error('ENOTFOUND');
      return ['127.0.0.1'];
    },
  });
});
afterAll(() => house[Symbol.asyncDispose]());

async function firstAttempt(
  client: Client,
  id: string,
  withinMs = 15_000,
): Promise<AnswerBody['entities'][number]> {
  const entry = await eventually(
    async () => (await client.ask('deliveries', { id })).body.entities.at(-1),
    (logged) => logged !== undefined,
    withinMs,
  );
  if (entry === undefined) throw new Error('nothing was logged');
  return entry;
}

async function attemptAt(url: string, withinMs?: number) {
  const client = house.newClient();
  const { id } = await client.register(url);
  await client.announce();
  const entry = await firstAttempt(client, id, withinMs);
  // The test removes the endpoint, so that its retries do not linger.
  await client.ask('remove', { id });
  return entry;
}

/** A server below HTTP. */
async function openSocketServer(onSocket: (socket: Socket) => void) {
  const listening = await listen(createServer(onSocket));
  return { ...listening, url: `${listening.url}/`, secureUrl: `https://127.0.0.1:${listening.port}/` };
}

const drip: Behaviour = (_hit, response) => {
  response.writeHead(200);
  const dripping = setInterval(() => response.write('.'), 500);
  response.on('close', () => clearInterval(dripping));
};
const slowHeaders: Behaviour = (_hit, response) => {
  const { socket } = response;
  socket?.write('HTTP/1.1 200 OK\r\n');
  let n = 0;
  const dripping = setInterval(() => socket?.write(`x-${n++}: y\r\n`), 500);
  response.on('close', () => clearInterval(dripping));
};

describe.concurrent('a delivery to a receiver succeeds', () => {
  it.each([200, 201, 202, 204])('when it answers %i', async (status) => {
    await using receiver = await openReceiver(answer(status));
    expect(await attemptAt(receiver.url)).toMatchObject({
      event: 'supplier.created', attempt: 1, outcome: 'succeeded', responseStatus: status, error: null, nextAttemptAt: null,
    }); // oxfmt-ignore
  });

  it('when it answers after an informational answer', async () => {
    await using receiver = await openReceiver((_hit, response) => {
      response.writeEarlyHints({ link: '</x>; rel=preload' });
      response.writeHead(204).end();
    });
    expect(await attemptAt(receiver.url)).toMatchObject({ outcome: 'succeeded', responseStatus: 204 });
  });

  it('when it answers after nine seconds', { timeout: 20_000 }, async () => {
    await using receiver = await openReceiver(
      (_hit, response) => void setTimeout(() => response.writeHead(204).end(), 9_000),
    );
    expect(await attemptAt(receiver.url, 15_000)).toMatchObject({
      outcome: 'succeeded',
      responseStatus: 204,
    });
  });

  it.each(['http', 'https'])(
    'on a new connection where the receiver has closed the kept connection, over %s',
    async (scheme) => {
      const certificate = scheme === 'https' ? { certificate: trusted } : {};
      const closed = Promise.withResolvers<void>();
      await using receiver = await openReceiver((_hit, response, { socket }) => {
        socket.once('close', () => closed.resolve());
        response.writeHead(204).end(() => socket.end());
      }, certificate);
      const client = house.newClient();
      const { id } = await client.register(receiver.url);
      await client.announce();
      await closed.promise;
      await client.announce();
      await receiver.received(2);
      const { entities } = await eventually(
        async () => (await client.ask('deliveries', { id })).body,
        ({ total }) => total === 2,
      );
      expect(entities).toMatchObject([
        { attempt: 1, outcome: 'succeeded' },
        { attempt: 1, outcome: 'succeeded' },
      ]);
      expect(receiver.hits).toHaveLength(2);
    },
  );

  it('at the second address of its name where nothing listens at the first', async () => {
    await using receiver = await openReceiver();
    const entry = await attemptAt(receiver.url.replace('127.0.0.1', 'two.test'));
    expect(entry).toMatchObject({ attempt: 1, outcome: 'succeeded', error: null });
    expect(receiver.hits).toHaveLength(1);
  });

  it.each([
    ['a second where its receiver says nothing of that', '', 1_000, 2_500],
    ['two seconds less than its receiver says', 'keep-alive: timeout=5\r\n', 3_000, 4_200],
  ])('and its connection is kept open for %s', async (_long, header, keptMs, lessThanMs) => {
    const idle = Promise.withResolvers<{ clockMs: number; idleMs: number }>();
    await using server = await openSocketServer((socket) =>
      socket.once('data', () => {
        const [answeredAt, awakeAt] = [performance.now(), awake()];
        socket.once('end', () =>
          idle.resolve({ clockMs: performance.now() - answeredAt, idleMs: awake() - awakeAt }),
        );
        socket.write(`HTTP/1.1 204 No Content\r\n${header}\r\n`);
      }),
    );
    expect(await attemptAt(server.url)).toMatchObject({ outcome: 'succeeded' });
    const { clockMs, idleMs } = await idle.promise;
    expect(clockMs).toBeGreaterThan(keptMs - 100);
    expect(idleMs).toBeLessThan(lessThanMs);
  });

  it('over https with a certificate for its address', async () => {
    await using receiver = await openReceiver(answer(204), { certificate: trusted });
    expect(await attemptAt(receiver.url)).toMatchObject({ outcome: 'succeeded', responseStatus: 204 });
  });

  it('over https with a certificate for its name, which the request carries as Host', async () => {
    await using receiver = await openReceiver(answer(204), { certificate: trusted });
    const url = receiver.url.replace('127.0.0.1', 'receiver.test');
    expect(await attemptAt(url)).toMatchObject({ outcome: 'succeeded', responseStatus: 204 });
    expect(receiver.hits[0]?.headers['host']).toBe(`receiver.test:${receiver.port}`);
  });
});

describe.concurrent('a delivery to a receiver fails', () => {
  it.each([301, 302, 303, 307, 308])(
    'when it answers with a redirect %i, which is not followed',
    async (status) => {
      await using target = await openReceiver();
      await using receiver = await openReceiver(answer(status, { location: target.url }));
      expect(await attemptAt(receiver.url)).toMatchObject({
      outcome: 'failed', responseStatus: status, error: expect.stringContaining('redirect'), nextAttemptAt: expect.any(String),
    }); // oxfmt-ignore
      expect(target.hits).toHaveLength(0);
    },
  );

  it.each([304, 400, 401, 403, 404, 429, 500, 502, 503])('when it answers %i', async (status) => {
    await using receiver = await openReceiver(answer(status));
    expect(await attemptAt(receiver.url)).toMatchObject({ outcome: 'failed', responseStatus: status });
  });

  it.each([
    ['hangs', hang, null],
    ['drips its headers', slowHeaders, null],
    ['drips its body', drip, 200],
  ])('after ten seconds when it %s', { timeout: 25_000 }, async (_name, behaviour, responseStatus) => {
    await using receiver = await openReceiver(behaviour);
    const entry = await attemptAt(receiver.url, 15_000);
    expect(entry).toMatchObject({
      outcome: 'failed',
      responseStatus,
      error: expect.stringContaining('timeout'),
    });
    expect(entry.durationMs).toBeGreaterThan(9_500);
    expect(entry.durationMs).toBeLessThan(12_500);
  });

  it('when it resets the connection, and no attempt is made before its due time', async () => {
    let count = 0;
    await using server = await openSocketServer((socket) =>
      socket.once('data', () => {
        count += 1;
        socket.resetAndDestroy();
      }),
    );
    expect(await attemptAt(server.url)).toMatchObject({
      responseStatus: null,
      error: expect.stringContaining('closed before'),
    });
    expect(count).toBe(1);
  });

  it.each(
    (['closes', 'resets'] as const).flatMap((how) => [0, 300, 3_000].map((afterMs) => ({ how, afterMs }))),
  )(
    'when it $how a kept connection $afterMs ms after it has the request, and gets the next attempt when it is due',
    { timeout: 20_000 },
    async ({ how, afterMs }) => {
      await using receiver = await openReceiver(breakKept(how, afterMs));
      const client = house.newClient();
      const { id } = await client.register(receiver.url);
      await client.announce();
      await receiver.received(1);
      await client.announce();
      const [, broken, again] = await receiver.received(3);
      if (broken === undefined || again === undefined) throw new Error('too few hits');
      expect(again.atMs - broken.atMs).toBeGreaterThanOrEqual(afterMs + 1_000);
      const { entities } = await eventually(
        async () => (await client.ask('deliveries', { id })).body,
        ({ total }) => total === 3,
      );
      expect(entities).toMatchObject([
        { attempt: 2, outcome: 'succeeded' },
        { attempt: 1, outcome: 'failed', error: expect.stringContaining('closed before') },
        { attempt: 1, outcome: 'succeeded' },
      ]);
    },
  );

  it('when it closes the connection before it answers', async () => {
    await using server = await openSocketServer((socket) => socket.once('data', () => socket.end()));
    expect(await attemptAt(server.url)).toMatchObject({
      responseStatus: null,
      error: expect.stringContaining('closed before'),
    });
  });

  it('when it answers 100 Continue, which the HTTP client rejects', async () => {
    await using server = await openSocketServer((socket) =>
      socket.once('data', () => socket.write('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n')),
    );
    expect(await attemptAt(server.url)).toMatchObject({
      responseStatus: null,
      error: 'the answer began with 100 Continue, not asked for',
    });
  });

  it('when the body of its answer breaks off', async () => {
    await using server = await openSocketServer((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf')),
    );
    expect(await attemptAt(server.url)).toMatchObject({ outcome: 'failed', responseStatus: 200 });
  });

  it('when it does not speak HTTP', async () => {
    await using server = await openSocketServer((socket) =>
      socket.once('data', () => socket.end('220 smtp ready\r\n')),
    );
    expect(await attemptAt(server.url)).toMatchObject({
      responseStatus: null,
      error: expect.stringContaining('not HTTP'),
    });
  });

  it('when its headers are too large', async () => {
    await using receiver = await openReceiver(answer(200, { 'x-large': 'y'.repeat(20_000) }));
    expect(await attemptAt(receiver.url)).toMatchObject({
      responseStatus: null,
      error: expect.stringContaining('headers are too large'),
    });
  });

  it('when no server listens', async () => {
    const receiver = await openReceiver();
    await receiver[Symbol.asyncDispose]();
    expect(await attemptAt(receiver.url)).toMatchObject({
      responseStatus: null,
      error: 'connection refused',
    });
  });

  it('when its certificate is signed by an unknown authority', async () => {
    await using receiver = await openReceiver(answer(204), { certificate: stranger });
    expect(await attemptAt(receiver.url)).toMatchObject({
      responseStatus: null,
      error: expect.stringContaining('certificate'),
    });
    expect(receiver.hits).toHaveLength(0);
  });

  it('when its certificate is for another name', async () => {
    await using receiver = await openReceiver(answer(204), { certificate: elsewhere });
    expect(await attemptAt(receiver.url)).toMatchObject({
      responseStatus: null,
      error: expect.stringContaining('certificate'),
    });
    expect(receiver.hits).toHaveLength(0);
  });

  it('when it speaks no TLS', async () => {
    await using server = await openSocketServer((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\n\r\n')),
    );
    expect(await attemptAt(server.secureUrl)).toMatchObject({
      responseStatus: null,
      error: expect.stringContaining('TLS'),
    });
  });
});

it('a delivery fails, and crashes nothing, when the receiver’s name no longer resolves or resolves to a private address', async () => {
  let addresses: string[] = ['127.0.0.1'];
  await using another = await openHouse();
  await another.start({
    resolve: async () => {
      if (addresses.length === 0) throw new Error('ENOTFOUND');
      return addresses;
    },
  });
  await using receiver = await openReceiver();
  const client = another.newClient();
  const { id } = await client.register(receiver.url.replace('127.0.0.1', 'moving.test'));
  await client.announce();
  await receiver.received(1);

  const lastError = async () => (await client.ask('deliveries', { id })).body.entities[0]?.error;
  addresses = [];
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  await client.announce();
  await eventually(lastError, (error) => error === 'refused: moving.test does not resolve');
  addresses = ['127.0.0.1', '10.0.0.1'];
  await eventually(
    lastError,
    (error) => error?.startsWith('refused: moving.test leads to a private address') === true,
  );
  expect(receiver.hits).toHaveLength(1);
});

it('a healthy receiver gets its deliveries beside a failing receiver', async () => {
  await using good = await openReceiver();
  await using bad = await openReceiver(answer(500));
  const client = house.newClient();
  await client.register(good.url);
  await client.register(bad.url);
  const ids = await client.announce(20);
  const startedAt = awake();
  const hits = await good.received(20);
  expect(awake() - startedAt).toBeLessThan(5_500);
  expect(new Set(hits.map(({ headers }) => headers['webhook-id']))).toEqual(new Set(ids));
  // Its third attempt is due six seconds after its first.
  const [first] = bad.hits;
  expect(bad.hits.filter(({ atMs }) => atMs < (first?.atMs ?? 0) + 5_500).length).toBeLessThanOrEqual(2);
});
