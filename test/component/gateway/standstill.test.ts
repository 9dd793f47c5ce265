// A gateway that stood still for longer than a client may take to send a request. Here all that is in this process stands
// still with it; what a client wrote before is in the sockets of the system.
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { token } from '../../support/access-tokens.ts';
import { openReadyGateway, openServices, type TestGateway } from '../../support/gateway.ts';
import { startNats } from '../../support/nats.ts';
import { openRaw } from '../../support/raw-http.ts';
import { standStill } from '../../support/stand-still.ts';

const stack = new AsyncDisposableStack();
let gateway: TestGateway;
const requestTimeoutMs = 1_000;

beforeAll(async () => {
  const nats = stack.use(await startNats());
  stack.use(await openServices(nats.url));
  gateway = stack.use(await openReadyGateway(nats.url, { REQUEST_TIMEOUT_MS: String(requestTimeoutMs) }));
});
afterAll(() => stack.disposeAsync());

const head =
  `POST /api/v1/integration/suppliers HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token()}\r\n` +
  'content-type: application/json\r\ncontent-length: 16\r\n\r\n';
const body = '{"suppliers":[]}';

/** Its timers come next and its sockets after them, as in a process that was stopped. */
async function standStillAfter(before: () => void): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  before();
  standStill(1.6 * requestTimeoutMs);
}

it.each([
  { what: 'the whole request', before: '', meanwhile: head + body },
  { what: 'the rest of its headers', before: head.slice(0, 50), meanwhile: head.slice(50) + body },
  { what: 'its body', before: head, meanwhile: body },
])(
  'a request is answered although $what arrived while the gateway process was stopped',
  async ({ before, meanwhile }) => {
    using connection = await openRaw(gateway.port);
    if (before !== '') connection.send(before);
    await wait(100);
    await standStillAfter(() => connection.send(meanwhile));
    expect((await connection.answer()).status).toBe(200);
    // And the connection is as good as before.
    await wait(2 * requestTimeoutMs);
    connection.send(head + body);
    expect((await connection.answer()).status).toBe(200);
  },
);

it.each([
  { what: 'the connection', sent: '' },
  { what: 'a part of its headers', sent: head.slice(0, 50) },
  { what: 'all of its headers', sent: head },
])('a request of which only $what arrives is answered 408 after a full time-out', async ({ sent }) => {
  using connection = await openRaw(gateway.port);
  await wait(100);
  if (sent !== '') connection.send(sent);
  await standStillAfter(() => undefined);
  const wokeAt = performance.now();
  expect((await connection.answer(5 * requestTimeoutMs)).status).toBe(408);
  expect(performance.now() - wokeAt).toBeGreaterThan(0.9 * requestTimeoutMs);
});
