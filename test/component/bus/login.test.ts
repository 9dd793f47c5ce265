import { openBus, type Bus, type BusRequest } from '@integration-sync/runtime/bus';
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

/** Two users, of whom `one` may not subscribe to what is denied. */
const withDenied = (denied: string) => [
  'jetstream: {}',
  `authorization { users: [ { user: all, password: x },
    { user: one, password: x, permissions: { publish: ">", subscribe: { deny: ${denied} } } } ] }`,
];

const askAs = (asking: Bus, subject: string): Promise<string> =>
  asking
    .request(subject, { headers: { integration: 'acme' }, timeoutMs: 2_000 })
    .then(({ body }) => Buffer.from(body).toString(), String);

// Setup: an operator takes permissions from the login of a running service, and gives them back.
// What this proves: the service answers again without a restart, and is told that it missed broadcasts.
it('a service takes requests and broadcasts again once its login may subscribe again', async () => {
  await using server = await startNatsAs(withDenied('[]'));
  const options = { name: 'test', log: openTestLog().log };
  await using bus = await openBus({ ...options, url: at(server.url, 'one:x') });
  await using caller = await openBus({ ...options, url: at(server.url, 'all:x') });
  const handlers = {
    'svc.test.things.list': async () => ({ body: 'served' }),
    'svc.test.callers.tell': async ({ headers }: BusRequest) => ({ body: String(headers.has('caller')) }),
  };
  await using _serving = await bus.serve({
    service: 'test',
    version: '1.0.0',
    description: 'serves',
    inFlightMax: 1,
    handlers,
  });
  const heard: string[] = [];
  using _listening = bus.listen(
    'webhooks.changed',
    ({ body }) => heard.push(Buffer.from(body).toString()),
    () => heard.push('missed'),
  );
  const ask = () => askAs(caller, 'svc.test.things.list');
  /** Whether the service hears signs of life for its own requests. */
  const hears = () => askAs(bus, 'svc.test.callers.tell');
  expect([await ask(), await hears()]).toEqual(['served', 'true']);
  await server.reconfigure(withDenied('["svc.test.things.list", "svc.test.caller.>", "webhooks.changed"]'));
  await eventually(ask, (answer) => answer.includes('is away'));
  await eventually(hears, (answer) => answer === 'false');
  await server.reconfigure(withDenied('[]'));
  await eventually(ask, (answer) => answer === 'served', 20_000);
  await eventually(hears, (answer) => answer === 'true', 20_000);
  await eventually(
    () => heard,
    ([first]) => first === 'missed',
    20_000,
  );
  caller.broadcast('webhooks.changed', 'one');
  await eventually(
    () => heard,
    () => heard.join() === 'missed,one',
  );
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
