// Reads the events of one integration from JetStream, each once, and asks for the record of each created supplier.
//   NATS_URL=nats://127.0.0.1:4222 INTEGRATION=acme NAME=my-service node reader.ts
// SINCE=2026-03-31T21:00:00Z begins there, where the consumer is made; without it at the oldest event.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import {
  AckPolicy,
  DeliverPolicy,
  jetstream,
  jetstreamManager,
  type ConsumerConfig,
} from '@nats-io/jetstream';
import { connect, headers, nanos } from '@nats-io/transport-node';

const { NATS_URL = 'nats://127.0.0.1:4222', INTEGRATION = 'acme', NAME = 'my-service', SINCE } = process.env;
const inboxPrefix = `_INBOX_${NAME}`;
const nats = await connect({
  servers: NATS_URL,
  inboxPrefix,
  maxReconnectAttempts: -1,
  waitOnFirstConnect: true,
});

const begin: Partial<ConsumerConfig> =
  SINCE === undefined
    ? { deliver_policy: DeliverPolicy.All }
    : { deliver_policy: DeliverPolicy.StartTime, opt_start_time: new Date(SINCE).toISOString() };
const consumers = jetstream(nats).consumers;
// Where NATS has users an operator makes the consumer: ops reader NAME --integration INTEGRATION --from-start --apply
const consumer = await consumers.get('EVENTS', NAME).catch(async () => {
  const manager = await jetstreamManager(nats);
  await manager.consumers.add('EVENTS', {
    durable_name: NAME,
    filter_subject: `events.${INTEGRATION}.>`,
    ack_policy: AckPolicy.Explicit,
    inactive_threshold: nanos(8 * 24 * 3_600_000),
    ...begin,
  });
  return consumers.get('EVENTS', NAME);
});

// An event may come twice. A service with a database keeps the id in the transaction that deals with the event.
const file = process.env['SEEN'] ?? `${NAME}.seen`;
const seen = new Set(existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []);

// The reader ends if the consumer is deleted, or NATS has lost it.
for await (const message of await consumer.consume({ abort_on_missing_resource: true })) {
  const id = message.headers?.get('Nats-Msg-Id') ?? '';
  const version = message.headers?.get('Event-Version') || '1';
  if (version !== '1') throw new Error(`${id} has version ${version}, which this reader does not know`);
  if (!seen.has(id)) {
    const { event, data } = message.json<{ event: string; data: { externalId?: string } }>();
    process.stdout.write(`${id} ${event} ${JSON.stringify(data)}\n`);
    if (event === 'supplier.created') await showRecord(data.externalId ?? '');
    seen.add(id);
    appendFileSync(file, `${id}\n`);
  }
  message.ack(); // until then JetStream delivers it again
}

async function showRecord(externalId: string): Promise<void> {
  const asked = headers();
  asked.set('query', new URLSearchParams({ externalId, details: 'true' }).toString());
  const reply = await nats.request(`svc.catalog.suppliers.list.${INTEGRATION}`, '', {
    headers: asked,
    timeout: 5_000,
  });
  const failure = reply.headers?.get('Nats-Service-Error');
  if (failure) throw new Error(failure);
  const { entities } = reply.json<{ entities: { name: string }[] }>();
  process.stdout.write(`record ${externalId} ${entities[0]?.name}\n`);
}
