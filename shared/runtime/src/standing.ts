// What a service with streams tells of them: its gauges, and the notes that the gateway shows in /readyz. Nothing of it
// makes a service unready, as pushes and listings work without.
import { notesSubject, type ServiceName } from '@integration-sync/contracts';
import { Gauge, type Registry } from 'prom-client';
import type { Bus, StreamStanding } from './bus/index.ts';

/** Every replica that has notes answers with them. */
export const tellNotes = (
  service: ServiceName,
  bus: Pick<Bus, 'answerAll'>,
  notesNow: () => string[],
): Disposable =>
  bus.answerAll(notesSubject(service), () => {
    const notes = notesNow();
    return notes.length === 0 ? undefined : JSON.stringify(notes);
  });

type Read = (standing: StreamStanding) => number;

export function observeStreams(registry: Registry, bus: Pick<Bus, 'streamStandings'>): void {
  const open = (name: string, help: string, read: Read): void => {
    const gauge = new Gauge({
      name,
      help,
      labelNames: ['stream'],
      registers: [registry],
      collect() {
        gauge.reset();
        for (const standing of bus.streamStandings()) gauge.set({ stream: standing.stream }, read(standing));
      },
    });
  };
  open('sync_stream_replicas', 'Copies that a stream is set to have.', ({ replicas }) => replicas);
  open('sync_stream_replicas_current', 'Copies that have all of a stream.', ({ current }) => current);
  open('sync_stream_has_leader', 'Whether a stream has a leader.', ({ hasLeader }) => (hasLeader ? 1 : 0));
  open(
    'sync_stream_differs',
    'Whether a stream has other copies, days or bytes than the settings of this replica say.',
    ({ differs }) => (differs ? 1 : 0),
  );
}
