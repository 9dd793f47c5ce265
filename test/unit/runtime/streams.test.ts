import { TimeoutError } from '@nats-io/nats-core';
import { openLog } from '@integration-sync/runtime/log';
import { expect, it } from 'vitest';
import type { Connection } from '../../../shared/runtime/src/bus/connection.ts';
import { Disconnected } from '../../../shared/runtime/src/bus/connectivity.ts';
import { streamConfig, type StreamSpec } from '../../../shared/runtime/src/bus/stream-config.ts';
import { openStreams } from '../../../shared/runtime/src/bus/streams.ts';

const spec: StreamSpec = {
  name: 'EVENTS',
  description: 'test',
  subjects: ['events.>'],
  retention: 'limits',
  discard: 'new',
  replicas: 3,
};

it.each([
  ['answers late', new TimeoutError()],
  ['is away for a moment', new Disconnected()],
])('a start changes the copies of a stream though NATS %s', async (_name, trouble) => {
  const config = { ...streamConfig(spec), num_replicas: 1 };
  const updates: object[] = [];
  const connection = {
    log: openLog({ service: 'test', level: 'silent' }),
    connected: true,
    nats: { isClosed: () => false },
    stream: { apiPrefix: '$JS.API' },
    whileConnected: <T>(work: () => Promise<T>) => work(),
    manager: {
      streams: {
        info: () => Promise.resolve({ config, state: {} }),
        update(_stream: string, changes: object) {
          updates.push(changes);
          if (updates.length === 1) return Promise.reject(trouble);
          return Promise.resolve(Object.assign(config, changes));
        },
      },
    },
  } as unknown as Connection;
  await using streams = openStreams(connection);
  await streams.ensureStream(spec);
  expect(updates).toEqual([{ num_replicas: 3 }, { num_replicas: 3 }]);
  expect(streams.streamStandings()).toMatchObject([{ stream: 'EVENTS', replicas: 3 }]);
});
