import { promisify } from 'node:util';
import { createServer } from '../../../services/gateway/src/server/server.ts';
import { openMetrics } from '@integration-sync/runtime/metrics';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { openTestLog } from '../../support/log.ts';
import { openRaw } from '../../support/raw-http.ts';

// Connections on which no byte moves any more: the server alone, with a timeout that a test can wait for.

const large = Buffer.alloc(64 * 1024 * 1024, 32);
let stack: AsyncDisposableStack;
let port: number;
let countConnections: () => Promise<number>;

beforeEach(() => {
  stack = new AsyncDisposableStack();
});
afterEach(() => stack.disposeAsync());

async function listen(stillTimeoutMs: number): Promise<void> {
  const metrics = stack.use(await openMetrics({ service: 'gateway', port: 0, host: '127.0.0.1' }));
  const app = createServer({
    requestTimeoutMs: 30_000,
    log: openTestLog().log,
    metrics,
    isStopping: () => false,
    stillTimeoutMs,
  });
  stack.defer(() => app.server.closeAllConnections());
  stack.defer(() => void app.close());
  app.get('/large', async () => large);
  app.post('/read', async ({ raw }) => {
    for await (const _chunk of raw);
    return 'read';
  });
  countConnections = promisify(app.server.getConnections.bind(app.server));
  port = Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port);
}

it('the gateway closes the connection of a client that does not read its answer', async () => {
  await listen(400);
  using connection = await openRaw(port);
  connection.socket.pause();
  connection.send('GET /large HTTP/1.1\r\nhost: x\r\n\r\n');
  await eventually(countConnections, (count) => count === 1);
  expect(await eventually(countConnections, (count) => count === 0)).toBe(0);
});

it('the gateway accepts a push whose body arrives slowly without a pause', async () => {
  await listen(3_000);
  using connection = await openRaw(port);
  // All of them together take longer than the connection may be still.
  const drops = 8;
  connection.send(`POST /read HTTP/1.1\r\nhost: x\r\ncontent-length: ${drops}\r\n\r\n`);
  let sent = 0;
  const dripping = setInterval(() => {
    connection.send(' ');
    sent += 1;
    if (sent === drops) clearInterval(dripping);
  }, 500);
  stack.defer(() => clearInterval(dripping));
  expect(await connection.answer(15_000)).toMatchObject({ status: 200, body: 'read' });
});
