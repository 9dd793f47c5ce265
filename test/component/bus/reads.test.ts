// Reads of several messages of a stream (direct get) whose answer loses a message on its way, as it may while nats-servers of a
// cluster lose the connection between them.
import type { Bus } from '@integration-sync/runtime/bus';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestBus, text } from '../../support/bus.ts';
import { startNats } from '../../support/nats.ts';
import { openEngineProxy } from '../../support/servers.ts';

const closing = new AsyncDisposableStack();
let url: string;
/** Matches the message that the proxy drops, once. */
let losing: RegExp | undefined;

beforeAll(async () => {
  const nats = closing.use(await startNats());
  const proxy = await openEngineProxy(nats.url, (client, server) => {
    client.pipe(server);
    client.on('close', () => server.destroy());
    server.on('data', (bytes: Buffer) => {
      const sent = bytes.toString('latin1');
      const passed = losing === undefined ? sent : sent.replace(losing, '');
      if (passed !== sent) losing = undefined;
      client.write(passed, 'latin1');
    });
  });
  url = closing.use(proxy).url;
  await using bus = await openTestBus(nats.url, 'filling');
  await bus.ensureStream({
    name: 'READ',
    description: 'test',
    subjects: ['READ.>'],
    retention: 'limits',
    discard: 'new',
    maxAgeMs: 60_000,
    duplicateWindowMs: 60_000,
    atomicBatches: true,
  });
  const bodies = ['one', 'two', 'three'];
  await bus.publishBatch(bodies.map((body) => ({ subject: 'READ.x', id: body, body })));
  await bus.publishBatch([{ subject: 'READ.y', id: 'only', body: 'only' }]);
});
afterAll(() => closing.disposeAsync());

async function read(bus: Bus, subject: string): Promise<string[]> {
  const found = await Array.fromAsync(bus.readStream('READ', { subject, from: { sequence: 1 } }));
  return found.map(({ body }) => text(body));
}

it.each([
  ['the first message', 'READ.x', ['one', 'two', 'three'], 'one'],
  ['a message', 'READ.x', ['one', 'two', 'three'], 'two'],
  ['the only message', 'READ.y', ['only'], 'only'],
])(
  'a read fails, and does not skip a message, if %s of the answer is lost',
  async (_, subject, bodies, body) => {
    await using bus = await openTestBus(url);
    losing = new RegExp(`HMSG \\S+ \\d+ \\d+ \\d+\\r\\n(?:(?!HMSG )[^])*?\\r\\n\\r\\n${body}\\r\\n`);
    await expect(read(bus, subject)).rejects.toMatchObject({ code: 'unavailable' });
    expect(losing).toBeUndefined();
    expect(await read(bus, subject)).toEqual(bodies);
  },
);
