// JetStream that is not the one of the nats-server, or of the account, to which a service connects.
import type { Bus } from '@integration-sync/runtime/bus';
import { openBus } from '@integration-sync/runtime/bus';
import type { NatsOptions } from '@integration-sync/runtime/config';
import { findPort } from '@integration-sync/dev/port';
import { expect, it, onTestFinished } from 'vitest';
import { openFollower } from '../../support/bus.ts';
import { eventually } from '../../support/eventually.ts';
import { openTestLog } from '../../support/log.ts';
import { startNatsAs } from '../../support/nats.ts';

const spec = {
  name: 'FAR',
  description: 'test',
  subjects: ['far.>'],
  retention: 'limits' as const,
  discard: 'new' as const,
  maxAgeMs: 60_000,
  duplicateWindowMs: 60_000,
  atomicBatches: true,
};

const start = async (lines: readonly string[]): Promise<string> => {
  const server = await startNatsAs(lines);
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server.url;
};

const open = async (options: NatsOptions): Promise<Bus> => {
  const bus = await openBus({ ...options, name: 'test', log: openTestLog().log });
  onTestFinished(() => bus[Symbol.asyncDispose]());
  return bus;
};

const storage = (domain: string): string[] => [
  'jetstream {',
  '  store_dir: $NATS_STORE_DIR',
  `  domain: ${domain}`,
  '}',
];

/** All that a service does with a stream: it makes it, publishes one by one and at once, reads, takes and removes. */
async function useAll(bus: Bus): Promise<void> {
  await bus.ensureStream(spec);
  await bus.publishBatch([{ subject: 'far.one', id: 'a', body: 'first' }]);
  const many = Array.from({ length: 20 }, (_, index) => ({
    subject: 'far.many',
    id: `m-${index}`,
    body: 'x',
  }));
  await bus.publishBatch(many);
  expect(await bus.messagesIn('FAR')).toBe(21);
  const reading = bus.readStream('FAR', { subject: 'far.many', from: { sequence: 1 } });
  expect(await Array.fromAsync(reading, ({ id }) => id)).toEqual(many.map(({ id }) => id));

  await using following = openFollower(bus, 'FAR', { filters: ['far.>'] });
  await eventually(
    () => following.seen.length,
    (count) => count === 21,
  );
  expect(await bus.purge('FAR', 'far.many')).toBe(20);
}

// Setup: two nats-servers, each with JetStream of a domain of its own, the one a leaf of the other.
// What this proves: a service at the leaf keeps its streams where its setting says, and nothing where it connects.
it('a service creates its streams in the configured JetStream domain', async () => {
  const port = await findPort();
  const hub = await start([
    'server_name: hub',
    ...storage('hub'),
    `leafnodes { listen: "127.0.0.1:${port}" }`,
  ]);
  const leaf = await start([
    'server_name: leaf',
    ...storage('leaf'),
    `leafnodes { remotes: [ { url: "nats://127.0.0.1:${port}" } ] }`,
  ]);
  await useAll(await open({ url: leaf, jetstream: { domain: 'hub' } }));
  const [atHub, atLeaf] = [await open({ url: hub }), await open({ url: leaf })];
  expect(await atHub.messagesIn('FAR')).toBe(1);
  await expect(atLeaf.streamFacts('FAR')).rejects.toThrow(/stream not found/);
});

const imported = (subject: string, to = subject): string =>
  `{ service: { account: EVENTS, subject: "${subject}" }, to: "${to}" }`;

it('a service uses the JetStream of another account, imported under a prefix', async () => {
  const [events, sync] = ['owner', 'guest'].map((user) => ({ user, password: `p-${user}` }));
  const url = await start([
    'jetstream { store_dir: $NATS_STORE_DIR }',
    'accounts {',
    '  EVENTS {',
    '    jetstream: enabled',
    `    users: [ { user: ${events?.user}, password: ${events?.password} } ]`,
    '    exports: [',
    '      { service: "$JS.API.>", response_type: stream }, { service: "far.>" }, { service: "$JS.ACK.>" }',
    '    ]',
    '  }',
    '  SYNC {',
    `    users: [ { user: ${sync?.user}, password: ${sync?.password} } ]`,
    '    imports: [',
    `      ${imported('$JS.API.>', 'js.events.API.>')}, ${imported('far.>')}, ${imported('$JS.ACK.>')}`,
    '    ]',
    '  }',
    '}',
  ]);
  const login = (one: typeof events) => ({ user: one?.user ?? '', pass: one?.password ?? '' });
  await useAll(await open({ url, login: login(sync), jetstream: { apiPrefix: 'js.events.API' } }));
  const owner = await open({ url, login: login(events) });
  expect(await owner.messagesIn('FAR')).toBe(1);
});

it('a service waits for a missing JetStream, and logs the subject that it asked', async () => {
  const url = await start(storage('hub'));
  const { log, text } = openTestLog();
  const bus = await openBus({ url, jetstream: { domain: 'moon' }, name: 'test', log });
  const ensuring = bus.ensureStream(spec).then(
    () => 'made',
    () => 'given up',
  );
  await eventually(text, (lines) => lines.includes('waiting for jetstream'), 12_000);
  expect(text()).toContain('"api":"$JS.moon.API"');
  await bus[Symbol.asyncDispose]();
  expect(await ensuring).toBe('given up');
});
