// The streams and consumers themselves, without the bus of the services.
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import type { Store } from '@integration-sync/runtime/store';
import { eventually } from '../support/eventually.ts';

export interface Nats extends AsyncDisposable {
  readonly connection: NatsConnection;
  readonly manager: JetStreamManager;
}

export async function openNats(servers: string): Promise<Nats> {
  const connection = await connect({ servers });
  const manager = await jetstreamManager(connection);
  return { connection, manager, [Symbol.asyncDispose]: () => connection.close() };
}

/** Resolves once webhooks has read all of the log, and has delivered it or stored what is undelivered. */
export async function untilTaken({ manager }: Nats, store: Store, withinMs: number): Promise<void> {
  const { state } = await manager.streams.info('EVENT_BATCHES');
  const replicas = store.collection<{ _id: string; floors: Record<string, [number, number]> }>(
    'webhook_replicas',
  );
  // A replica that was killed has left its floors.
  const floors = async (): Promise<number[]> => {
    const latest = new Map<string, number>();
    for (const one of await replicas.find({}).toArray()) {
      for (const [partition, [, floor]] of Object.entries(one.floors)) {
        latest.set(partition, Math.max(floor, latest.get(partition) ?? 0));
      }
    }
    return [...latest.values()];
  };
  await eventually(
    floors,
    (all) => all.length > 0 && all.every((floor) => floor >= state.last_seq),
    withinMs,
  );
}
