// npm run tail -- --integration acme
// Prints events as they happen, straight from JetStream: an example of how another internal service reads them.
// It uses the NATS client alone, as that service would; nothing here comes from this project's own bus.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { eventsStream, integrationPattern } from '@integration-sync/contracts';
import { AckPolicy, DeliverPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { readFacts } from './stack/facts.ts';
import { repositoryFolder } from './stack/services.ts';

const usage = `Usage: npm run tail -- [--integration acme] [--durable my-service] [--all]
Events of every integration unless one is named. With --durable, it goes on where it stopped the last time, and
several readers of one name share the work. With --all, it begins with the oldest event that the stream still has.
`;

async function tail(): Promise<void> {
  const { values } = parseArgs({
    options: {
      integration: { type: 'string' },
      durable: { type: 'string' },
      all: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  if (values.integration !== undefined && !new RegExp(integrationPattern).test(values.integration)) {
    throw new Error(`--integration: expected ${integrationPattern}, got ${values.integration}`);
  }
  const servers = process.env['NATS_URL'] ?? readFacts(join(repositoryFolder, '.local'))?.nats;
  if (servers === undefined)
    throw new Error('There is no local stack: run "npm start" first, or set NATS_URL.');

  const nats = await connect({ servers, name: 'tail', maxReconnectAttempts: -1 });
  const manager = await jetstreamManager(nats);
  // Making a consumer that is there already, with the same settings, leaves it as it is, and its place too.
  const { name } = await manager.consumers.add(eventsStream, {
    ...(values.durable === undefined
      ? { inactive_threshold: 60_000_000_000 }
      : { durable_name: values.durable }),
    filter_subject: `events.${values.integration ?? '*'}.>`,
    ack_policy: AckPolicy.Explicit,
    deliver_policy: values.all ? DeliverPolicy.All : DeliverPolicy.New,
  });
  const consumer = await jetstream(nats).consumers.get(eventsStream, name);
  const messages = await consumer.consume();
  process.once('SIGINT', () => messages.stop());
  process.once('SIGTERM', () => messages.stop());
  process.stderr.write(`Reading ${eventsStream} as ${name}. Ctrl-C ends it.\n`);

  for await (const message of messages) {
    // Delivery is at least once: a real service remembers the ids that it has dealt with.
    const id = message.headers?.get('Nats-Msg-Id') ?? '';
    process.stdout.write(`${message.subject} ${id} ${message.string()}\n`);
    message.ack();
  }
  await nats.drain();
}

try {
  await tail();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
  process.exitCode = 1;
}
