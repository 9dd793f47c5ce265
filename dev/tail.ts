// npm run tail -- --integration acme
// Prints events as they happen, straight from JetStream: an example of how another internal service reads them.
// It uses only the NATS client, as another service would, and not this project's bus.
import { parseArgs } from 'node:util';
import { eventsStream, integrationPattern } from '@integration-sync/contracts';
import {
  AckPolicy,
  DeliverPolicy,
  jetstream,
  JetStreamApiError,
  jetstreamManager,
  type JetStreamManager,
} from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { untilTold } from './process/signals.ts';
import { runWithUsage } from './process/words.ts';
import { readLocalFacts } from './stack/facts.ts';

const usage = `Usage: npm run tail -- [--integration acme] [--durable my-service] [--all]
Events of every integration unless one is named. With --durable, it goes on where it stopped the last time, and
several readers of one name share the work; nats-server forgets it after 8 days without a reader. With --all, it begins with the oldest event that the stream still has.
`;

const consumerNotFound = 10_014;
/** A day: nats-server removes a consumer that no reader has used for eight days. */
const dayNs = 86_400e9;

async function tail(): Promise<void> {
  const { values } = parseArgs({
    options: {
      integration: { type: 'string' },
      durable: { type: 'string' },
      all: { type: 'boolean', default: false },
    },
  });
  if (values.integration !== undefined && !new RegExp(integrationPattern).test(values.integration)) {
    throw new RangeError(`--integration: expected ${integrationPattern}, got ${values.integration}`);
  }
  const servers = process.env['NATS_URL'] ?? readLocalFacts()?.nats;
  if (servers === undefined)
    throw new Error('There is no local stack: run "npm start" first, or set NATS_URL.');

  const nats = await connect({ servers, name: 'tail', maxReconnectAttempts: -1 });
  const manager = await jetstreamManager(nats);
  const filter = `events.${values.integration ?? '*'}.>`;
  // An existing durable consumer keeps its place in the stream, and ignores --all.
  const { name, config } =
    (await findConsumer(manager, values.durable)) ??
    (await manager.consumers.add(eventsStream, {
      ...(values.durable === undefined
        ? { inactive_threshold: 60e9 }
        : { durable_name: values.durable, inactive_threshold: 8 * dayNs }),
      filter_subject: filter,
      ack_policy: AckPolicy.Explicit,
      deliver_policy: values.all ? DeliverPolicy.All : DeliverPolicy.New,
    }));
  if (values.integration !== undefined && config.filter_subject !== filter) {
    await nats.close();
    throw new Error(
      `the consumer ${name} exists and reads ${config.filter_subject}: choose another name, or omit --integration.`,
    );
  }
  const consumer = await jetstream(nats).consumers.get(eventsStream, name);
  const messages = await consumer.consume();
  void untilTold().then(() => {
    messages.stop();
    // While NATS is away, neither `stop` nor `drain` ends.
    setTimeout(() => process.exit(), 2_000).unref();
  });
  // The reader of stdout is gone, as after `| head`.
  process.stdout.on('error', () => process.exit());
  process.stderr.write(`Reading ${eventsStream} as ${name}. Ctrl-C ends it.\n`);

  for await (const message of messages) {
    // Delivery is at least once: a real service remembers the ids that it has dealt with.
    const id = message.headers?.get('Nats-Msg-Id') ?? '';
    process.stdout.write(`${message.subject} ${id} ${message.string()}\n`);
    message.ack();
  }
  await nats.drain();
}

async function findConsumer(manager: JetStreamManager, name: string | undefined) {
  if (name === undefined) return undefined;
  try {
    return await manager.consumers.info(eventsStream, name);
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === consumerNotFound) return undefined;
    throw error;
  }
}

await runWithUsage(usage, tail);
