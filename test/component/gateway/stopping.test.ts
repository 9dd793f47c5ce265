import dns, { type LookupAddress, type LookupAllOptions } from 'node:dns';
import { once } from 'node:events';
import { connect } from 'node:net';
import { Worker } from 'node:worker_threads';
import { subjects } from '@integration-sync/contracts';
import { ConfigError } from '@integration-sync/runtime/config';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { bearer, token } from '../../support/access-tokens.ts';
import { awake } from '../../support/awake.ts';
import { eventually } from '../../support/eventually.ts';
import { openGateway, openReadyGateway, openServices, type TestGateway } from '../../support/gateway.ts';
import { startNats } from '../../support/nats.ts';
import { openRaw } from '../../support/raw-http.ts';

type LookupAll = (error: Error | null, addresses: LookupAddress[]) => void;

const isListening = (port: number, host: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, host, () => resolve(true)).on('error', () => resolve(false));
    stack.defer(() => void socket.destroy());
  });

let stack: AsyncDisposableStack;
let gateway: TestGateway;
let natsUrl: string;
let release: () => void;
let asked: Promise<void>;

beforeEach(async () => {
  stack = new AsyncDisposableStack();
  const nats = stack.use(await startNats());
  natsUrl = nats.url;
  const gate = Promise.withResolvers<void>();
  const arrival = Promise.withResolvers<void>();
  release = gate.resolve;
  asked = arrival.promise;
  stack.use(
    await openServices(natsUrl, {
      [subjects.suppliersPush]: async () => {
        arrival.resolve();
        await gate.promise;
        return { body: '{"success":true}' };
      },
      [subjects.eventsRead]: async (request) => {
        using wait = request.wait(25_000);
        arrival.resolve();
        await wait.woken();
        return { body: JSON.stringify({ isOver: wait.isOver }) };
      },
    }),
  );
  gateway = await openGateway(natsUrl);
  stack.defer(() => gateway[Symbol.asyncDispose]());
  stack.defer(release);
});
afterEach(() => stack.disposeAsync());

const push = (): Promise<Response> =>
  fetch(`${gateway.url}/api/v1/integration/suppliers`, {
    method: 'POST',
    headers: { ...bearer(), 'content-type': 'application/json' },
    body: '{}',
  });

it('a stopping gateway answers requests in flight, closes their connections, and accepts no new ones', async () => {
  const pushed = push();
  await asked;
  const stopped = gateway[Symbol.asyncDispose]();
  await expect
    .poll(
      () =>
        new Promise((resolve) =>
          connect(gateway.port, '127.0.0.1', () => resolve('open')).on('error', () => resolve('closed')),
        ),
    )
    .toBe('closed');
  release();
  const answer = await pushed;
  expect({
    status: answer.status,
    connection: answer.headers.get('connection'),
    body: await answer.json(),
  }).toEqual({
    status: 200,
    connection: 'close',
    body: { success: true },
  });
  await stopped;
});

it('a stopping gateway answers /readyz with 503 on a kept connection', async () => {
  using connection = await openRaw(gateway.port);
  connection.send('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n');
  expect((await connection.answer()).status).toBe(200);
  // A connection on which a request is still coming is not closed as idle.
  connection.send('GET /readyz HTTP/1.1\r\nhost: x\r\n');
  const pushed = push();
  await asked;
  const stopped = gateway[Symbol.asyncDispose]();
  connection.send('\r\n');
  const answer = await connection.answer();
  expect({ status: answer.status, connection: answer.headers['connection'] }).toEqual({
    status: 503,
    connection: 'close',
  });
  expect(JSON.parse(answer.body)).toMatchObject({ code: 'unavailable', errors: [{ pointer: 'gateway' }] });
  release();
  await pushed;
  await stopped;
});

it('a stopping gateway answers a request that has just arrived on a kept connection, and closes the connection', async () => {
  await gateway[Symbol.asyncDispose]();
  gateway = await openGateway(natsUrl, {}, { lastRequestsMs: 4_000 });
  using connection = await openRaw(gateway.port);
  connection.send('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n');
  expect((await connection.answer()).headers['connection']).not.toBe('close');
  const stopped = gateway[Symbol.asyncDispose]();
  // An HTTP server closes what it takes for idle when it closes its listener.
  await expect.poll(() => isListening(gateway.port, '127.0.0.1')).toBe(false);
  connection.send('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n');
  const answer = await connection.answer();
  expect({ status: answer.status, connection: answer.headers['connection'] }).toEqual({
    status: 200,
    connection: 'close',
  });
  await stopped;
});

/** Connects often while this thread stands still, and sends the requests soon after it. */
const whileStandingStill = `
  const { connect } = require('node:net');
  const { parentPort, workerData } = require('node:worker_threads');
  const connected = new Int32Array(workerData.connected);
  const call = () =>
    new Promise((resolve) => {
      const socket = connect(workerData.port, '127.0.0.1', () => {
        Atomics.add(connected, 0, 1);
        Atomics.notify(connected, 0);
        setTimeout(() => socket.write('GET /healthz HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n'), 200);
      });
      let text = '';
      socket.on('data', (bytes) => (text += bytes));
      socket.on('error', ({ code }) => (text += code));
      socket.on('close', () => resolve(text));
    });
  const calls = Array.from({ length: workerData.calls }, call);
  Promise.all(calls).then((texts) => parentPort.postMessage(texts));
`;

it('a stopping gateway answers on connections that it had no time to accept', async () => {
  await gateway[Symbol.asyncDispose]();
  gateway = await openGateway(natsUrl, {}, { lastRequestsMs: 1_000 });
  const [calls, connected] = [50, new SharedArrayBuffer(4)];
  const workerData = { port: gateway.port, connected, calls };
  const said = once(new Worker(whileStandingStill, { eval: true, workerData }), 'message');
  const count = new Int32Array(connected);
  for (let seen = 0; seen < calls; seen = Atomics.load(count, 0))
    expect(Atomics.wait(count, 0, seen, 10_000)).not.toBe('timed-out');
  const stopped = gateway[Symbol.asyncDispose]();
  const [texts] = (await said) as [string[]];
  for (const text of texts) expect(text).toMatch(/^HTTP\/1\.1 200 OK[^]*\r\nconnection: close\r\n/i);
  await stopped;
});

it('a stopping gateway answers waiting feed calls immediately', async () => {
  const waiting = fetch(`${gateway.url}/api/v1/integration/events?wait=25`, { headers: bearer() });
  await asked;
  const startedAt = awake();
  await gateway[Symbol.asyncDispose]();
  const answer = await waiting;
  expect([answer.status, await answer.json()]).toEqual([200, { isOver: true }]);
  expect(awake() - startedAt).toBeLessThan(3_000);
});

it('a stopping gateway closes idle connections soon', async () => {
  for (let count = 0; count < 5; count += 1) await (await fetch(`${gateway.url}/healthz`)).text();
  using silent = await openRaw(gateway.port);
  const startedAt = awake();
  await gateway[Symbol.asyncDispose]();
  expect(awake() - startedAt).toBeLessThan(2_000);
  await silent.closed;
});

it(
  'a stopping gateway closes the connection of a request that never ends, and stops within 12 s',
  { timeout: 20_000 },
  async () => {
    using stalled = await openRaw(gateway.port);
    stalled.send(
      `POST /api/v1/integration/suppliers HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token()}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`,
    );
    await expect.poll(() => stalled.socket.bytesWritten).toBeGreaterThan(0);
    const startedAt = awake();
    await gateway[Symbol.asyncDispose]();
    expect(awake() - startedAt).toBeLessThan(12_000);
  },
);

it('a gateway whose port is taken fails with an error that names the setting, and leaves nothing open', async () => {
  await expect(openGateway(natsUrl, { GATEWAY_PORT: String(gateway.port) })).rejects.toThrow(
    new ConfigError([
      `GATEWAY_PORT, GATEWAY_HOST: cannot listen on 127.0.0.1:${gateway.port} (the port is taken; choose another, or 0 for any free one)`,
    ]),
  );
  await gateway[Symbol.asyncDispose]();
});

const countTimers = (): number =>
  process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;

it('stopped gateways leave no timers', async () => {
  await gateway[Symbol.asyncDispose]();
  const before = countTimers();
  // So many that timers which end by themselves do not hide a timer of each.
  const gateways = await Promise.all(Array.from({ length: 10 }, () => openReadyGateway(natsUrl)));
  for (const one of gateways) await one[Symbol.asyncDispose]();
  expect(await eventually(countTimers, (count) => count <= before)).toBeLessThanOrEqual(before);
});

it('the gateway serves its metrics on a separate port', async () => {
  await fetch(`${gateway.url}/healthz`);
  await fetch(`${gateway.url}/nothing`);
  const text = await (await fetch(gateway.metricsUrl)).text();
  expect(text).toMatch(/sync_requests_total\{subject="GET \/healthz",outcome="ok",service="gateway"\} 1/);
  expect(text).toMatch(/sync_requests_total\{subject="unknown",outcome="not_found",service="gateway"\} 1/);
  expect((await fetch(`${gateway.url}/metrics`)).status).toBe(404);
  await gateway[Symbol.asyncDispose]();
});

// Setup: a machine on which "localhost" is two addresses.
// What this proves: there is one server, which has the limits and hooks, and none beside it.
it('the gateway listens on one address, also where the name in GATEWAY_HOST has two addresses', async () => {
  const loopbacks = ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }));
  const { lookup } = dns;
  vi.spyOn(dns, 'lookup').mockImplementation(((name: string, options: LookupAllOptions, done: LookupAll) =>
    name === 'localhost' && options.all
      ? done(null, loopbacks)
      : lookup(name, options, done)) as typeof lookup);
  stack.defer(() => void vi.restoreAllMocks());
  const local = stack.use(await openGateway(natsUrl, { GATEWAY_HOST: 'localhost' }));
  expect(local.url).toBe(`http://127.0.0.1:${local.port}`);
  expect((await fetch(`${local.url}/healthz`)).status).toBe(200);
  expect(await isListening(local.port, '127.0.0.2')).toBe(false);
  await gateway[Symbol.asyncDispose]();
});
