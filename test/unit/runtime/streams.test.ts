import { setTimeout as wait } from 'node:timers/promises';
import { eventBatchesStreamSpec, eventsStreamSpec, type StreamSettings } from '@integration-sync/contracts';
import { JetStreamApiError, type StoreCompression, type StreamConfig } from '@nats-io/jetstream';
import { NoRespondersError, PermissionViolationError, TimeoutError } from '@nats-io/transport-node';
import { openLog } from '@integration-sync/runtime/log';
import { expect, it } from 'vitest';
import type { Connection } from '../../../shared/runtime/src/bus/connection.ts';
import { Disconnected } from '../../../shared/runtime/src/bus/connectivity.ts';
import { failureOfStream } from '../../../shared/runtime/src/bus/failures.ts';
import { streamConfig, type StreamSpec } from '../../../shared/runtime/src/bus/stream-config.ts';
import { openStreams } from '../../../shared/runtime/src/bus/ensure-streams.ts';

const spec: StreamSpec = {
  name: 'EVENTS',
  description: 'test',
  subjects: ['events.>'],
  retention: 'limits',
  discard: 'new',
  replicas: 3,
};

const refusal = (code: number, description: string): Promise<never> =>
  Promise.reject(new JetStreamApiError({ code: 404, err_code: code, description }));
const notFound = () => refusal(10_059, 'stream not found');

/** A cluster, or a single server, that has the stream, with one copy unless given. */
function openNats(found: Partial<StreamConfig> = {}, isClustered = true) {
  const config = { ...streamConfig(spec, isClustered), num_replicas: 1, ...found };
  const cluster = isClustered ? { name: 'three', leader: 'n1' } : undefined;
  const parts = {
    info: (): Promise<unknown> => Promise.resolve({ config, state: {}, cluster }),
    update: (_stream: string, changes: object): Promise<unknown> =>
      Promise.resolve(Object.assign(config, changes)),
    add: (): Promise<unknown> => refusal(10_058, 'stream name already in use'),
  };
  const connection = {
    log: openLog({ service: 'test', level: 'silent' }),
    connected: true,
    nats: { isClosed: () => false },
    whileConnected: <T>(work: () => Promise<T>) => work(),
    manager: { streams: parts, getOptions: () => ({ apiPrefix: '$JS.API' }) },
  } as unknown as Connection;
  return { config, parts, connection };
}

it.each([
  ['answers late', new TimeoutError()],
  ['is away for a moment', new Disconnected()],
])('a start changes the copies of a stream though NATS %s', async (_name, trouble) => {
  const { parts, connection } = openNats();
  const { update } = parts;
  parts.update = () => {
    parts.update = update;
    return Promise.reject(trouble);
  };
  await using streams = openStreams(connection);
  await streams.ensureStream(spec);
  expect(streams.streamStandings()).toMatchObject([{ stream: 'EVENTS', replicas: 3 }]);
});

it('a start waits for a stream that another service has just created, and that a server does not know yet', async () => {
  const { parts, connection } = openNats();
  const { info } = parts;
  let asked = 0;
  parts.info = () => ((asked += 1) <= 3 ? notFound() : info());
  await using streams = openStreams(connection);
  await streams.ensureStream(spec);
  expect(streams.streamStandings()).toMatchObject([{ stream: 'EVENTS', replicas: 3 }]);
});

it.each([
  ['of a single server is compressed', {}, 1, 'none', 's2'],
  ['with three copies is not compressed by a replica without STREAM_REPLICAS', {}, 3, 'none', 'none'],
  ['with three copies is no longer compressed', { STREAM_REPLICAS: 3 }, 3, 's2', 'none'],
  ['that may get three copies is no longer compressed', {}, 1, 's2', 'none'],
])('a stream of events %s', async (_what, settings: StreamSettings, copies, before, after) => {
  for (const specOf of [eventsStreamSpec, eventBatchesStreamSpec]) {
    const found = { num_replicas: copies, compression: before as StoreCompression };
    const { config, connection } = openNats(found, after === 'none');
    await using streams = openStreams(connection);
    await streams.ensureStream(specOf(settings));
    expect(config.compression).toBe(after);
    expect(config.num_replicas).toBe(copies);
  }
});

it('the error that JetStream is not enabled counts as unavailable only where its cause is no responders', () => {
  const words = 'jetstream is not enabled';
  const error = new Error(words, { cause: new NoRespondersError('$JS.API.STREAM.PURGE.ATTEMPTS') });
  expect(failureOfStream(error)).toMatchObject({ code: 'unavailable', cause: error });
  expect(failureOfStream(new Error(words))).toBeUndefined();
});

it('a stream that was deleted is noted as missing, until it is there again', async () => {
  const { parts, connection } = openNats();
  await using streams = openStreams(connection);
  await streams.ensureStream(spec);
  const { info } = parts;
  parts.info = notFound;
  await wait(6_000);
  expect(streams.streamNotes()).toEqual(['NATS has no EVENTS; `ops streams --apply` makes what is missing.']);
  expect(streams.streamStandings()).toMatchObject([{ hasLeader: false }]);
  parts.info = info;
  await wait(6_000);
  expect(streams.streamNotes()).toEqual([]);
});

it('a stream that the login may no longer inspect is not noted as without a leader', async () => {
  const { parts, connection } = openNats();
  await using streams = openStreams(connection);
  await streams.ensureStream(spec);
  parts.info = () =>
    Promise.reject(new PermissionViolationError('refused', 'publish', '$JS.API.STREAM.INFO.EVENTS'));
  await wait(6_000);
  expect(streams.streamNotes()).toEqual([]);
  expect(streams.streamStandings()).toMatchObject([{ hasLeader: true }]);
});

it.each([
  ['6 s ahead', 6_000, ['The clock of a replica and that of NATS are 6 s apart: see NTP on both.']],
  [
    'an hour behind',
    -3_600_000,
    ['The clock of a replica and that of NATS are 3600 s apart: see NTP on both.'],
  ],
  ['4 s ahead', 4_000, []],
  ['4 s behind', -4_000, []],
])('a clock of NATS that is %s is noted if it differs by more than 5 s', async (_what, apartMs, notes) => {
  const { parts, connection } = openNats();
  const { info } = parts;
  parts.info = async () => ({
    ...Object(await info()),
    ts: new Date(Date.now() + apartMs).toISOString(),
  });
  await using streams = openStreams(connection);
  await streams.ensureStream(spec);
  await wait(6_000);
  expect(streams.streamNotes()).toEqual(notes);
});
