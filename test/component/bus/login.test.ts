import { openBus } from '@integration-sync/runtime/bus';
import { expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { openTestLog } from '../../support/log.ts';
import { startNats, startNatsAs } from '../../support/nats.ts';

// The login that NATS_URL names: the client sends it to the server and writes it nowhere else.

const at = (url: string, credentials: string): string => url.replace('//', `//${credentials}@`);

it.each([
  ['me:hunter2', 'user: me, password: hunter2'],
  ['t0ken', 'token: t0ken'],
])('the client logs in with the credentials %s in the address of the server', async (credentials, wanted) => {
  await using server = await startNatsAs([`authorization { ${wanted} }`]);
  await using bus = await openBus({ url: at(server.url, credentials), name: 'test', log: openTestLog().log });
  expect(bus.connected).toBe(true);
});

// Setup: a server that does not know this user at first, and knows it later.
// What this proves: the log gives the reason for the wait, without the password, and the wait ends by itself.
it('the log has a refused login immediately, without the password', async () => {
  await using server = await startNatsAs(['authorization { user: another, password: hunter2 }']);
  const { log, text } = openTestLog();
  const opening = openBus({ url: at(server.url, 'me:hunter2'), name: 'test', log });
  await eventually(text, (lines) => lines.includes('waiting for nats'), 4_500);
  expect(JSON.parse(text())).toMatchObject({
    level: 'warn',
    servers: [server.url.slice('nats://'.length)],
    err: { message: expect.stringMatching(/authorization violation/i) },
  });
  await server.reconfigure(['authorization { user: me, password: hunter2 }']);
  await using bus = await opening;
  expect(bus.connected).toBe(true);
  expect(text()).not.toContain('hunter2');
});

it('a client with tls:// refuses a server without TLS', async () => {
  await using server = await startNats();
  const { log, text } = openTestLog();
  const url = server.url.replace('nats:', 'tls:');
  const over = new AbortController();
  const opened = openBus({ url, name: 'test', log, signal: over.signal }).then(
    () => 'opened',
    () => 'given up',
  );
  await eventually(text, (lines) => lines.includes("does not support 'tls'"), 8_000);
  over.abort();
  expect(await opened).toBe('given up');
});
