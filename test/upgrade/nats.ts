// The streams and consumers themselves, without the bus of the services.
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
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

/** Resolves once webhooks has taken all messages of the streams, and has delivered or held them. */
export async function untilTaken({ manager }: Nats, withinMs: number): Promise<void> {
  for (const stream of ['EVENTS', 'BUNDLES', 'DELIVERIES']) {
    // A release may not have one of them.
    const consumers = await Array.fromAsync(manager.consumers.list(stream)).catch(() => []);
    for (const { name } of consumers) {
      await eventually(
        () => manager.consumers.info(stream, name),
        ({ num_pending, num_ack_pending }) => num_pending === 0 && num_ack_pending === 0,
        withinMs,
      );
    }
  }
}
