// What replicas with other settings do to streams that exist: on a cluster of three nats-servers, as a single
// server keeps no copies.
import { randomUUID } from 'node:crypto';
import { eventsStreamSpec, Failure } from '@integration-sync/contracts';
import { openBus, type Bus } from '@integration-sync/runtime/bus';
import type { Engine } from '@integration-sync/dev/engines';
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { failureOfStream } from '../../../shared/runtime/src/bus/failures.ts';
import { openTestBus } from '../../support/bus.ts';
import { eventually } from '../../support/eventually.ts';
import { openTestLog } from '../../support/log.ts';
import { startNatsCluster, type NatsCluster } from '../../support/nats-cluster.ts';

const startsWithinMs = 60_000;
let cluster: NatsCluster;
let bus: Bus;
let nats: NatsConnection;
let manager: JetStreamManager;

beforeAll(async () => {
  cluster = await startNatsCluster();
  bus = await openTestBus(cluster.url);
  nats = await connect({ servers: cluster.url.split(',') });
  manager = await jetstreamManager(nats, { checkAPI: false });
}, startsWithinMs);
afterAll(async () => {
  await nats?.close();
  await bus?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
});

const day = 24 * 60 * 60 * 1_000_000_000;

/** The settings of EVENTS for a stream of the test's own. */
const spec = (name: string, settings: Parameters<typeof eventsStreamSpec>[0]) => ({
  ...eventsStreamSpec(settings),
  name,
  subjects: [`${name}.>`],
});

async function quantitiesOf(name: string) {
  const { config } = await manager.streams.info(name);
  return { copies: config.num_replicas, days: config.max_age / day, bytes: config.max_bytes };
}

const three = { STREAM_REPLICAS: 3, EVENTS_KEEP_DAYS: 7, EVENTS_MAX_BYTES: 1_000_000 };

describe('a replica that lacks a setting of the other replicas', () => {
  it('leaves an existing stream unchanged, and notes the missing setting', async () => {
    await bus.ensureStream(spec('LACKING', three));
    const { log, text } = openTestLog();
    await using forgetful = await openBus({ url: cluster.url, name: 'test', log });
    await forgetful.ensureStream(spec('LACKING', {}));
    await bus.publishBatch([{ subject: 'LACKING.x', id: 'at once', body: 'x' }]);
    expect(await quantitiesOf('LACKING')).toEqual({ copies: 3, days: 7, bytes: 1_000_000 });
    expect(forgetful.streamNotes()).toEqual([
      'A replica has no STREAM_REPLICAS (1 copy), where NATS has 3 copies of LACKING; it changed nothing.',
      'A replica has no EVENTS_MAX_BYTES (no limit), where NATS has 1000000 bytes of LACKING; it changed nothing.',
    ]);
    expect(forgetful.streamStandings()).toMatchObject([{ stream: 'LACKING', replicas: 3, differs: true }]);
    expect(text()).toContain('there are problems with streams');
    expect(bus.streamNotes()).toEqual([]);
  });

  it('does not raise a lower limit of another replica', async () => {
    await bus.ensureStream(spec('FEWER', { ...three, EVENTS_KEEP_DAYS: 3 }));
    await using forgetful = await openTestBus(cluster.url);
    await forgetful.ensureStream(spec('FEWER', { STREAM_REPLICAS: 3, EVENTS_MAX_BYTES: 1_000_000 }));
    expect(await quantitiesOf('FEWER')).toMatchObject({ days: 3 });
    expect(forgetful.streamNotes()).toEqual([
      'A replica has no EVENTS_KEEP_DAYS (7 days), where NATS has 3 days of FEWER; it changed nothing.',
    ]);
  });
});

describe('a replica whose settings have', () => {
  const less = { STREAM_REPLICAS: 1, EVENTS_KEEP_DAYS: 3, EVENTS_MAX_BYTES: 500_000 };

  it('fewer copies, days and bytes than the stream changes nothing, and notes the difference', async () => {
    await bus.ensureStream(spec('LESS', three));
    await using other = await openTestBus(cluster.url);
    await other.ensureStream(spec('LESS', less));
    expect(await quantitiesOf('LESS')).toEqual({ copies: 3, days: 7, bytes: 1_000_000 });
    expect(other.streamNotes()).toEqual([
      'A replica has 1 copy by STREAM_REPLICAS, where NATS has 3 copies of LESS; it changed nothing.',
      'A replica has 3 days by EVENTS_KEEP_DAYS, where NATS has 7 days of LESS; it changed nothing.',
      'A replica has 500000 bytes by EVENTS_MAX_BYTES, where NATS has 1000000 bytes of LESS; it changed nothing.',
    ]);
  });

  it('fewer copies, days and bytes reduces the stream with STREAMS_MAY_SHRINK, and other replicas note the difference', async () => {
    await bus.ensureStream(spec('TOLD', three));
    await using told = await openTestBus(cluster.url);
    await told.ensureStream(spec('TOLD', { ...less, STREAMS_MAY_SHRINK: true }));
    expect(await quantitiesOf('TOLD')).toEqual({ copies: 1, days: 3, bytes: 500_000 });
    expect(told.streamNotes()).toEqual([
      'NATS is a cluster and has one copy of TOLD; STREAM_REPLICAS=3 makes three.',
    ]);
  });

  it('no STREAM_REPLICAS keeps all copies of a stream, even with STREAMS_MAY_SHRINK', async () => {
    await bus.ensureStream(spec('KEPT', three));
    await using told = await openTestBus(cluster.url);
    await told.ensureStream(spec('KEPT', { EVENTS_KEEP_DAYS: 3, STREAMS_MAY_SHRINK: true }));
    expect(await quantitiesOf('KEPT')).toEqual({ copies: 3, days: 3, bytes: 1_000_000 });
  });

  it('more copies, days and bytes than the stream raises the stream', async () => {
    const more = `MORE-${randomUUID()}`;
    await bus.ensureStream(spec(more, less));
    // Streams with one copy are named together.
    const isAlone = new RegExp(`has one copy of [^;]*${more}[^;]*; STREAM_REPLICAS=3 makes three`);
    expect(bus.streamNotes().join()).toMatch(isAlone);
    await using other = await openTestBus(cluster.url);
    await other.ensureStream(spec(more, { ...three, EVENTS_MAX_BYTES: 0 }));
    expect(await quantitiesOf(more)).toEqual({ copies: 3, days: 7, bytes: -1 });
    // The first one asks again every few seconds.
    await eventually(
      () => bus.streamNotes(),
      (notes) => !isAlone.test(notes.join()) && notes.join().includes('STREAM_REPLICAS'),
    );
  });

  it('more copies than the cluster has servers leaves the stream as it is, and starts', async () => {
    await bus.ensureStream(spec('FIVE', three));
    await using other = await openTestBus(cluster.url);
    await other.ensureStream(spec('FIVE', { ...three, STREAM_REPLICAS: 5 }));
    expect(await quantitiesOf('FIVE')).toMatchObject({ copies: 3 });
    expect(other.streamNotes().join()).toMatch(
      /NATS refuses a stream: STREAM_REPLICAS: too few NATS servers/,
    );
  });

  it('more copies than the cluster has servers creates no stream, and names the setting', async () => {
    await expect(bus.ensureStream(spec('NONE', { STREAM_REPLICAS: 5 }))).rejects.toThrow(
      /^STREAM_REPLICAS: .*stream NONE/,
    );
  });
});

const away = async (servers: readonly Engine[]) => {
  for (const server of servers) server.hold();
  await Promise.all(servers.map((server) => server.kill()));
  return {
    [Symbol.asyncDispose]: async () => void (await Promise.all(servers.map((server) => server.resume()))),
  };
};

it('a replica notes that a stream has no leader while the server of its only copy is away', async () => {
  const url = cluster.servers
    .slice(0, 2)
    .map((server) => server.url)
    .join();
  await using watching = await openTestBus(url);
  const alone = `ALONE-${randomUUID()}`;
  const subjects = [`${alone}.>`];
  const placement = { cluster: '', tags: ['n3'] };
  await bus.patiently(`stream ${alone}`, () =>
    manager.streams.add({ name: alone, subjects, num_replicas: 1, placement }),
  );
  await watching.ensureStream({ ...spec(alone, {}), retention: 'limits' });
  const isLed = () => watching.streamStandings()[0]?.hasLeader;
  expect(isLed()).toBe(true);
  {
    await using _away = await away(cluster.servers.slice(2));
    await eventually(isLed, (led) => led === false, 30_000);
    expect(watching.streamNotes()).toContain(`NATS has no leader for ${alone}.`);
    // Two of three servers are up, and so JetStream answers for all other streams.
    const [found] = await watching.inspectStreams([spec(alone, {})]);
    expect(found).toMatchObject({ name: alone, standing: 'leaderless' });
    // So a handler answers 503 that asks the stream.
    const error: unknown = await watching.streamFacts(alone).catch((reason: unknown) => reason);
    expect(error instanceof Failure ? error : failureOfStream(error)).toMatchObject({ code: 'unavailable' });
  }
  await eventually(isLed, (led) => led === true, 30_000);
});

it('a replica notes that streams have no leader while two of three servers are away', async () => {
  await using watching = await openBus({
    url: cluster.servers[0]?.url ?? '',
    name: 'test',
    log: openTestLog().log,
  });
  await watching.ensureStream(spec('LEADERLESS', three));
  await eventually(
    () => watching.streamStandings(),
    ([standing]) => standing?.hasLeader === true && standing.current === 3,
    20_000,
  );
  {
    await using _away = await away(cluster.servers.slice(1));
    await eventually(
      () => watching.streamStandings(),
      ([standing]) => standing?.hasLeader === false,
      30_000,
    );
    expect(watching.streamNotes()).toEqual(['NATS has no leader for LEADERLESS.']);
  }
  await eventually(
    () => watching.streamStandings(),
    ([standing]) => standing?.hasLeader === true && standing.current === 3,
    30_000,
  );
  expect(watching.streamNotes()).toEqual([]);
});
