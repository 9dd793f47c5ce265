// ops streams: it names what is wrong, mends what can be mended without a loss, and takes nothing away by itself.
import { AckPolicy, StoreCompression, jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { publishWithBatch } from '@integration-sync/contracts';
import { openBus, type Bus } from '@integration-sync/runtime/bus';
import { expectedStreams } from '@integration-sync/webhooks/operating';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { openTestBus } from '../../support/bus.ts';
import { eventually } from '../../support/eventually.ts';
import { openTestLog } from '../../support/log.ts';
import { startNatsCluster, type NatsCluster } from '../../support/nats-cluster.ts';
import { startNats, startNatsAs } from '../../support/nats.ts';
import { runOps } from '../../support/ops.ts';
import { openHouse } from '../../support/webhooks.ts';

interface Looked {
  streams: { name: string; standing: string; facts: { replicas: number; bytesMax: number | null } | null }[];
  wrong: { stream: string; consumer?: string; what: string; repair: string }[];
}

let closing: AsyncDisposableStack;
let url: string;
let nats: NatsConnection;
let manager: JetStreamManager;
let bus: Bus;

async function open(servers: string): Promise<void> {
  url = servers;
  nats = await connect({ servers: servers.split(',') });
  closing.defer(() => nats.close());
  // A cluster has no JetStream yet when its servers are up; `make` waits for it.
  manager = await jetstreamManager(nats, { checkAPI: false });
  bus = closing.use(await openTestBus(servers));
}

/** As services with these settings make them. */
async function make(settings: Parameters<typeof expectedStreams>[0] = {}): Promise<void> {
  for (const spec of expectedStreams(settings)) await bus.ensureStream(spec);
}

async function ops(args: string[], settings: Record<string, string> = {}) {
  const ended = await runOps(['streams', '--json', ...args], { NATS_URL: url, ...settings });
  const looked: Looked = ended.stdout === '' ? { streams: [], wrong: [] } : JSON.parse(ended.stdout);
  return { ...ended, ...looked, words: looked.wrong.map(({ what }) => what) };
}

const configOf = async (stream: string) => (await manager.streams.info(stream)).config;
const nineDaysNs = 9 * 24 * 3_600 * 1e9;
const keptNs = async () => (await configOf('EVENT_BATCHES')).max_age;
const bytes = async () => (await configOf('EVENTS')).max_bytes;
const names = ['EVENTS', 'EVENT_BATCHES', 'ATTEMPTS'];
const replicas = async () => (await Promise.all(names.map(configOf))).map(({ num_replicas }) => num_replicas);

beforeEach(() => {
  closing = new AsyncDisposableStack();
});
afterEach(() => closing.disposeAsync());

describe('on a single server', () => {
  beforeEach(async () => {
    await open(closing.use(await startNats()).url);
  });

  test('ops streams finds no fault in streams that the services have created', async () => {
    await make();
    const looked = await ops(['--check']);
    expect(looked).toMatchObject({ code: 0, words: [] });
    expect(looked.streams.map(({ name }) => name)).toEqual(names);
    const text = await runOps(['streams'], { NATS_URL: url });
    expect(text.stdout).toMatch(/^EVENTS +1 of 1 +single server +0 +0 B +no limit +never +– +7 d$/m);
    expect(text.stdout).toContain('Nothing is wrong.');
  });

  test('ops streams gives no number of days to a stream that will be full in more than ten years', async () => {
    await make({ EVENTS_MAX_BYTES: 100_000_000 });
    await bus.publishBatch([{ subject: 'events.acme.supplier.created', id: 'one', body: '{}' }]);
    const { stdout } = await runOps(['streams'], { NATS_URL: url, EVENTS_MAX_BYTES: '100000000' });
    expect(stdout).toMatch(/^EVENTS .* over 3650 d +\d s +7 d$/m);
  });

  test('ops streams names missing and differing streams, and repairs them with --apply', async () => {
    await make();
    await manager.streams.delete('EVENT_BATCHES');
    await manager.streams.update('EVENTS', { duplicate_window: 120_000_000_000 });
    const looked = await ops(['--check']);
    expect(looked.code).toBe(3);
    expect(looked.words).toEqual([
      'EVENTS differs from this release in duplicate_window.',
      'NATS has no stream EVENT_BATCHES.',
    ]);
    expect((await ops([])).code).toBe(0);
    expect(await manager.streams.names().next()).not.toContain('EVENT_BATCHES');

    expect(await ops(['--apply'])).toMatchObject({ code: 0, words: [] });
    expect((await ops(['--check'])).code).toBe(0);
    expect((await manager.streams.info('EVENTS')).config.duplicate_window).toBe(300_000_000_000);
  });

  test('ops streams raises a stream to its settings, and reduces the stream only with STREAMS_MAY_SHRINK', async () => {
    await make({ EVENTS_MAX_BYTES: 100_000_000 });
    const settings = { EVENTS_MAX_BYTES: '50000000', EVENTS_KEEP_DAYS: '9' };
    const applied = await ops(['--apply'], settings);
    expect(applied.words).toEqual([
      'EVENTS has 100000000 bytes, where EVENTS_MAX_BYTES says 50000000 bytes.',
    ]);
    expect([await bytes(), await keptNs()]).toEqual([100_000_000, nineDaysNs]);
    await ops(['--apply']);
    expect([await bytes(), await keptNs()]).toEqual([100_000_000, nineDaysNs]);
    expect(await ops(['--apply'], { ...settings, STREAMS_MAY_SHRINK: 'true' })).toMatchObject({ words: [] });
    expect(await bytes()).toBe(50_000_000);
  });

  test('ops streams names a nearly full stream, and foreign consumers', async () => {
    await make({ EVENTS_MAX_BYTES: 4_000 });
    const body = JSON.stringify({ padding: 'x'.repeat(3_600) });
    const events = [{ subject: 'events.acme.supplier.created', id: 'one', body }];
    await publishWithBatch(bus, { announcer: 'catalog', integration: 'acme', events });
    for (const stream of ['EVENTS', 'EVENT_BATCHES'])
      await manager.consumers.add(stream, { durable_name: 'stranger', ack_policy: AckPolicy.Explicit });
    await manager.consumers.add('EVENT_BATCHES', { name: 'passing', ack_policy: AckPolicy.None });
    const { words } = await ops([]);
    expect(words).toEqual([
      expect.stringMatching(/^EVENTS has 3\.\d KB of at most 4\.0 KB/),
      'passing on EVENT_BATCHES is not of this system.',
      'stranger on EVENT_BATCHES is not of this system.',
      'EVENTS is full in 1 h at the rate of the last day, by EVENTS_MAX_BYTES: it takes no events then.',
    ]);
  });
});

describe('a stream that was changed by hand', () => {
  const changes = [
    ['EVENTS', { republish: { src: '>', dest: 'copy.>' } }, 'republish'],
    ['EVENTS', { max_msg_size: 1_000 }, 'max_msg_size'],
    ['EVENTS', { compression: StoreCompression.None }, 'compression'],
    ['EVENTS', { allow_rollup_hdrs: true }, 'allow_rollup_hdrs'],
    [
      'EVENT_BATCHES',
      { subject_transform: { src: 'event-batches.*.*', dest: 'event-batches.x.{{wildcard(1)}}' } },
      'subject_transform',
    ],
    ['EVENT_BATCHES', { max_msgs: 7 }, 'max_msgs'],
    ['EVENT_BATCHES', { sources: [{ name: 'EVENTS' }] }, 'sources'],
    ['EVENT_BATCHES', { discard: 'old' }, 'discard'],
    ['ATTEMPTS', { no_ack: true }, 'no_ack'],
    ['ATTEMPTS', { allow_direct: false }, 'allow_direct'],
    ['ATTEMPTS', { subjects: ['attempts.>', 'copies.>'] }, 'subjects'],
  ] as const;

  test('is named by ops streams, /readyz and the log, as is a foreign stream over the subjects of services', async () => {
    await open(closing.use(await startNats()).url);
    const { log, text } = openTestLog();
    const watching = closing.use(await openBus({ url, name: 'watching', log }));
    for (const spec of expectedStreams({})) await watching.ensureStream(spec);
    watching.watchOtherStreams(names);
    for (const [stream, change] of changes)
      await nats.request(
        `$JS.API.STREAM.UPDATE.${stream}`,
        JSON.stringify({ ...(await configOf(stream)), ...change }),
      );
    await manager.streams.add({ name: 'SPY', subjects: ['svc.catalog.>', '_INBOX_gateway.>'], no_ack: true });

    const { words } = await ops(['--check']);
    const said = async (): Promise<string> => watching.streamNotes().join('\n');
    const notes = await eventually(said, (now) => /SPY/.test(now) && /ATTEMPTS.*subjects/.test(now), 60_000);
    for (const [stream, , name] of changes) {
      const both = new RegExp(`${stream} .*\\b${name}\\b`);
      expect(words.filter((one) => both.test(one))).toHaveLength(1);
      expect(notes).toMatch(both);
      expect(text()).toMatch(both);
    }
    expect(words.filter((one) => one.includes('SPY is not of this system'))).toHaveLength(1);
    expect(text()).toContain('NATS has a stream SPY over svc.catalog.>, _INBOX_gateway.>');
  });
});

// Setup: a consumer that pushes to a handler, one of a stranger, and a stream that copies, beside a reader of EVENTS.
test('a foreign consumer and a stream that mirrors EVENTS are named by ops streams and /readyz', async () => {
  closing.use(await startNats().then(async (server) => (await open(server.url), server)));
  await make();
  const reader = { durable_name: 'billing', ack_policy: AckPolicy.Explicit };
  await manager.consumers.add('EVENTS', reader);
  const former = 'follow-00000000-0000-4000-8000-000000000000';
  await manager.consumers.add('EVENT_BATCHES', { name: former, ack_policy: AckPolicy.None });
  expect((await ops(['--check'])).words).toEqual([]);

  const pushed = { durable_name: 'push', deliver_subject: 'svc.catalog.suppliers.erase' };
  for (const stream of ['EVENTS', 'EVENT_BATCHES'])
    await manager.consumers.add(stream, { ...pushed, ack_policy: AckPolicy.None });
  await manager.consumers.add('ATTEMPTS', { name: 'follow-me', ack_policy: AckPolicy.None });
  await manager.streams.add({ name: 'COPY', mirror: { name: 'EVENTS' } });
  const found = await ops(['--check']);
  expect(found.code).toBe(3);
  expect(found.words).toEqual([
    'push on EVENTS pushes to svc.catalog.suppliers.erase, and nats-server may publish to every subject.',
    'push on EVENT_BATCHES pushes to svc.catalog.suppliers.erase, and nats-server may publish to every subject.',
    'follow-me on ATTEMPTS is not of this system.',
    'COPY is not of this system, and copies the messages of EVENTS.',
  ]);
  bus.watchOtherStreams(names);
  const notes = () => bus.streamNotes().filter((note) => /push|follow-me|COPY/.test(note));
  await eventually(notes, (words) => words.length === 4, 10_000);
  expect(notes().toSorted()).toEqual([
    'NATS has a consumer follow-me of ATTEMPTS that is not of this system.',
    'NATS has a consumer push of EVENTS, which pushes to svc.catalog.suppliers.erase and is not of this system.',
    'NATS has a consumer push of EVENT_BATCHES, which pushes to svc.catalog.suppliers.erase and is not of this system.',
    'NATS has a stream COPY that copies EVENTS and is not of this system.',
  ]);
}, 30_000);

test('beside a running replica ops streams finds no fault, and a repair disturbs no delivery', async () => {
  const house = closing.use(await openHouse({ mongodbUrl: inject('engines').mongodb }));
  await house.start();
  await open(house.nats.url);
  await house.newClient().announce(50);
  await expect.poll(() => ops(['--apply', '--check'])).toMatchObject({ code: 0, words: [] });
  expect(house.lines.join('')).not.toContain('differed and was changed');
});

test('ops streams finds no fault in the streams of a single server that names a cluster', async () => {
  const server = await startNatsAs(['cluster { name: one }', 'jetstream { store_dir: $NATS_STORE_DIR }']);
  await open(closing.use(server).url);
  await make();
  expect((await configOf('EVENTS')).compression).toBe(StoreCompression.None);
  for (const args of [[], ['--apply']]) {
    expect((await ops(args)).words.filter((what) => what.includes('compression'))).toEqual([]);
    expect((await configOf('EVENTS')).compression).toBe(StoreCompression.None);
  }
});

describe('on a cluster', () => {
  let cluster: NatsCluster;
  beforeEach(async () => {
    cluster = closing.use(await startNatsCluster());
    await open(cluster.url);
  });
  test('ops streams names a stream with a single copy, makes three copies, and removes none without STREAMS_MAY_SHRINK', async () => {
    await make();
    // JetStream of a new cluster may not answer at first.
    const { words } = await eventually(
      () => ops([]),
      ({ code }) => code === 0,
    );
    expect(words).toContain(
      'NATS is a cluster and has one copy of EVENTS: the stream is gone with one server.',
    );
    await ops(['--apply'], { STREAM_REPLICAS: '3' });
    expect(await replicas()).toEqual([3, 3, 3]);
    await eventually(
      () => ops(['--check'], { STREAM_REPLICAS: '3' }),
      ({ code }) => code === 0,
      30_000,
    );

    await ops(['--apply']);
    const less = await ops(['--apply'], { STREAM_REPLICAS: '1' });
    expect(less.words).toContain('EVENTS has 3 copies, where STREAM_REPLICAS says 1 copy.');
    expect(await replicas()).toEqual([3, 3, 3]);
    await ops(['--apply'], { STREAM_REPLICAS: '1', STREAMS_MAY_SHRINK: 'true' });
    expect(await replicas()).toEqual([1, 1, 1]);
  });

  test('ops streams names a missing server, and a JetStream without a quorum', async () => {
    await make({ STREAM_REPLICAS: 3 });
    const [, second, third] = cluster.servers;
    await third?.[Symbol.asyncDispose]();
    await eventually(
      () => ops([]),
      ({ words }) => words.includes('The copy of EVENTS on n3 is offline.'),
      40_000,
    );
    await second?.[Symbol.asyncDispose]();
    // A server that leads alone goes on for some seconds, until it notices.
    const ended = await eventually(
      () => ops([]),
      ({ code }) => code === 1,
      40_000,
    );
    expect(ended.stderr).toContain('its JetStream does not answer: more than half of the servers');
  }, 120_000);
});
