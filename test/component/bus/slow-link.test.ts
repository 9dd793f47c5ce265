// A link to nats-server on which a large answer takes longer than the client waits for answers to its pings.
import type { Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { Bus } from '@integration-sync/runtime/bus';
import { connect, headers } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestBus } from '../../support/bus.ts';
import { startNats } from '../../support/nats.ts';
import { openEngineProxy } from '../../support/servers.ts';

const subject = 'svc.catalog.large.ask';
const answerBytes = 7 * 1024 * 1024;
/** The answer takes 4.4 s. */
const piece = { bytes: 64 * 1024, everyMs: 40 };

const closing = new AsyncDisposableStack();
let slowUrl: string;

beforeAll(async () => {
  const nats = closing.use(await startNats());
  const slow = await openEngineProxy(nats.url, (client, server) => {
    client.pipe(server);
    client.on('close', () => server.destroy());
    server.on('data', (bytes: Buffer) => {
      server.pause();
      void passSlowly(bytes, client).then(() => server.resume());
    });
  });
  slowUrl = closing.use(slow).url;
  const answering: Bus = closing.use(await openTestBus(nats.url, 'answering'));
  const body = Buffer.alloc(answerBytes);
  const identity = { service: 'catalog', version: '1.0.0', description: 'Catalog' };
  const handlers = { [subject]: () => Promise.resolve({ body }) };
  closing.use(await answering.serve({ ...identity, inFlightMax: 10, handlers }));
});
afterAll(() => closing.disposeAsync());

async function passSlowly(bytes: Buffer, client: Socket): Promise<void> {
  for (let at = 0; at < bytes.length; at += piece.bytes) {
    client.write(bytes.subarray(at, at + piece.bytes));
    await wait((piece.everyMs * Math.min(piece.bytes, bytes.length - at)) / piece.bytes);
  }
}

it('a connection is kept while bytes arrive, although the answers to pings wait behind the bytes', async () => {
  await using asking = await openTestBus(slowUrl, 'asking');
  let reconnects = 0;
  using _listening = asking.listen(
    'some.news',
    () => undefined,
    () => void (reconnects += 1),
  );
  const { body } = await asking.request(subject, { timeoutMs: 20_000 });
  expect(body).toHaveLength(answerBytes);
  expect(reconnects).toBe(0);
});

it('the NATS client by itself drops such a connection; if not, remove the correction from transport.ts', async () => {
  const client = await connect({ servers: slowUrl, pingInterval: 800, maxPingOut: 2, reconnect: false });
  const named = headers();
  named.set('integration', 'test');
  const asked = client.request(subject, undefined, { timeout: 20_000, headers: named });
  await expect(asked.then(({ data }) => data.length)).rejects.toThrow('connection closed');
  await client.close();
});
