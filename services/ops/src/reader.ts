// ops reader makes the durable pull consumer of another internal service: the NATS login of that service may read its
// consumer, but may not create one.
import { eventsStream } from '@integration-sync/contracts';
import type { ConsumerSpec } from '@integration-sync/runtime/bus';
import { defineCommand, exitCodes, Misuse } from './command.ts';
import { StreamsConfig } from './config.ts';
import { openOpsBus, settle, withinPatience } from './engines.ts';

const help = `Usage: ops reader NAME [--subject SUBJECT...] [--from-start] [--apply] [--json]

Makes the durable pull consumer NAME on the stream ${eventsStream}, for another service inside (docs/integrating.md). Its login has
the same name in deploy/nats/nats.conf, and may read that consumer only.

  (nothing)     says whether the consumer is there
  --apply       makes it, or changes its subjects
  --subject     the events that it reads, such as events.acme.>; may be given several times; every event unless given
  --from-start  begins with the oldest event that the stream has; otherwise with the next one
  --json        what was found as one JSON document

Settings, as the services have them: NATS_URL.

Examples:
  ops reader reader --apply
  ops reader billing --subject 'events.*.batch.>' --subject 'events.*.dds.>' --from-start --apply
`;

/** A service that takes longer with an event sends in-progress acks, or JetStream redelivers the event. */
const ackWaitMs = 30_000;
const ackPendingMax = 1_000;

export const readerCommand = defineCommand({
  name: 'reader',
  summary: 'the consumer of another service inside that reads events',
  help,
  options: {
    subject: { type: 'string', multiple: true, default: ['events.>'] },
    'from-start': { type: 'boolean', default: false },
  },
  allowPositionals: true,
  async run(call) {
    const { values, positionals, output } = call;
    const [name, ...others] = positionals;
    if (name === undefined || others.length > 0) throw new Misuse('One NAME is expected.');
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(name) || name.startsWith('webhook-'))
      throw new Misuse(
        `NAME: 1 to 64 letters, digits, _ or -, not beginning with "webhook-"; not ${JSON.stringify(name)}.`,
      );
    const wrong = values.subject.find((subject) => !/^events\.[^\s]+$/.test(subject));
    if (wrong !== undefined)
      throw new Misuse(`--subject begins with "events.", unlike ${JSON.stringify(wrong)}.`);
    const consumer: ConsumerSpec = {
      name,
      description: 'Another service inside',
      filterSubjects: values.subject,
      ackWaitMs,
      ackPendingMax,
      deliver: values['from-start'] ? 'all' : 'new',
    };
    await using bus = await openOpsBus(settle(StreamsConfig, call));
    if (values.apply)
      await withinPatience(bus.ensureConsumer(eventsStream, consumer), 'NATS does not make the consumer');
    const isThere = values.apply || (await bus.hasConsumer(eventsStream, name));
    output.give({ name, isThere });
    output.say(
      isThere
        ? `${eventsStream} has the consumer ${name}.`
        : `${eventsStream} has no consumer ${name}: --apply makes it.`,
    );
    return isThere ? exitCodes.well : exitCodes.wrong;
  },
});
