// The metrics of streams.
import type { Registry } from 'prom-client';
import type { Bus, StreamStanding } from './bus/index.ts';
import { gaugeByLabel } from './gauges.ts';

export function observeStreams(registry: Registry, bus: Pick<Bus, 'streamStandings'>): void {
  const open = (name: string, help: string, valueOf: (standing: StreamStanding) => number): void => {
    const read = () => bus.streamStandings().map((one) => [one.stream, valueOf(one)] as const);
    gaugeByLabel(registry, { name, help, label: 'stream', read });
  };
  open('sync_stream_replicas', 'Copies that a stream is set to have.', ({ replicas }) => replicas);
  open(
    'sync_stream_replicas_current',
    'Copies that have all messages of a stream.',
    ({ current }) => current,
  );
  open('sync_stream_has_leader', 'Whether a stream has a leader.', ({ hasLeader }) => (hasLeader ? 1 : 0));
  open(
    'sync_stream_made_seconds',
    'When a stream was last created, in Unix seconds.',
    ({ madeAt }) => madeAt.getTime() / 1_000,
  );
  open(
    'sync_stream_differs',
    'Whether a stream has other copies, days or bytes than the settings of this replica say.',
    ({ differs }) => (differs ? 1 : 0),
  );
}
