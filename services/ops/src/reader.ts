// ops reader makes the durable pull consumer of another internal service, whose NATS login may read the consumer but not create it.
import { eventsFilter, eventsStream, parseInstant } from '@integration-sync/contracts';
import type { Bus, ConsumerBegin, ConsumerSpec, FoundConsumer } from '@integration-sync/runtime/bus';
import {
  checkIntegration,
  defineCommand,
  exitCodes,
  Misuse,
  Refusal,
  type Call,
  type ExitCode,
} from './command.ts';
import { StreamsConfig } from './config.ts';
import { openOpsBus, readSettings, withinPatience } from './open-engines.ts';
import { numberInWords, type Output } from './output.ts';
import { accountOf } from './reader-account.ts';

const help = `Usage: ops reader NAME [options] [--apply] [--json]

Makes the durable pull consumer NAME on the stream ${eventsStream}, for another service inside (docs/integrating.md). Its login has
the same name in deploy/nats/nats.conf, and may read that consumer only.

  (nothing)      says whether the consumer is there, and what --apply would change
  --apply        makes it, or changes its subjects and --inactive; where it is among the events stays
  --subject      the events that it reads, such as events.acme.>; may be given several times; every event unless given
  --integration  the events of one integration, and prints the account for nats.conf that reads these and the records
                 of that integration, and nothing else
  --from-start   begins with the oldest event that the stream has; otherwise with the next one
  --since        begins with the first event after a time (a day, or a date-time with Z or an offset), or with the event
                 of a sequence
  --inactive     days without a reader after which nats-server removes the consumer; never unless given
  --remove       with --apply removes the consumer, and with it its offset
  --json         what was found as one JSON document

An existing consumer keeps its offset: --from-start and --since then end with 2, unless it was made with the same.

Settings, as the services have them: NATS_URL.

Examples:
  ops reader reader --from-start --apply
  ops reader billing --integration acme --since 2026-03-31T21:00:00Z --inactive 8 --apply
  ops reader billing --subject 'events.*.batch.>' --subject 'events.*.dds.>' --apply
  ops reader billing --remove --apply
`;

/** How long a service may work on an event without in-progress acks, before JetStream redelivers the event. */
const ackWaitMs = 30_000;
const ackPendingMax = 1_000;
const dayMs = 24 * 60 * 60_000;

const options = {
  subject: { type: 'string', multiple: true },
  integration: { type: 'string' },
  'from-start': { type: 'boolean', default: false },
  since: { type: 'string' },
  inactive: { type: 'string' },
  remove: { type: 'boolean', default: false },
} as const;

export const readerCommand = defineCommand({
  name: 'reader',
  summary: 'the consumer of another service inside that reads events',
  help,
  options,
  allowPositionals: true,
  async run(call) {
    const { values, positionals, output } = call;
    const name = nameOf(positionals);
    const wanted = wantedOf(values);
    const account = values.integration === undefined ? undefined : accountOf(name, values.integration);
    await using bus = await openOpsBus(readSettings(StreamsConfig, call));
    if ((await bus.messagesIn(eventsStream)) === undefined)
      throw new Refusal(`NATS has no stream ${eventsStream}: ops streams --apply makes it.`, exitCodes.wrong);
    if (values.remove) return await remove(bus, name, values.apply, output);
    const { deliver } = wanted;
    if (deliver !== undefined) await checkBegin(bus, deliver, output);
    const found = await bus.findConsumer(eventsStream, name);
    const consumer: ConsumerSpec = {
      name,
      description: 'Another service inside',
      ackWaitMs,
      ackPendingMax,
      filterSubjects: wanted.filterSubjects ?? found?.filterSubjects ?? ['events.>'],
      deliver: deliver ?? 'new',
      inactiveMs: wanted.inactiveMs,
    };
    if (found !== undefined && deliver !== undefined && !found.beganAt(consumer))
      throw keepsItsOffset(name, found);
    if (values.apply)
      await withinPatience(bus.ensureConsumer(eventsStream, consumer), 'NATS does not make the consumer');
    const differing = values.apply ? [] : (found?.differingFrom(consumer) ?? []);
    const isThere = values.apply || found !== undefined;
    output.give({ name, isThere, differing, ...(account === undefined ? {} : { account }) });
    output.say(standing(name, isThere, differing));
    if (account !== undefined) output.say(account);
    return isThere && differing.length === 0 ? exitCodes.well : exitCodes.wrong;
  },
});

const keepsItsOffset = (name: string, { next, pending }: FoundConsumer): Refusal =>
  new Refusal(
    `${eventsStream} has the consumer ${name}, which goes on at event ${next} and has ${numberInWords(pending)} events before it. ` +
      '--from-start and --since do not move it. To have it begin elsewhere, remove it first ' +
      `(ops reader ${name} --remove --apply). Nothing was changed.`,
    exitCodes.misuse,
  );

function standing(name: string, isThere: boolean, differing: readonly string[]): string {
  if (!isThere) return `${eventsStream} has no consumer ${name}: --apply makes it.`;
  const rest =
    differing.length === 0 ? '.' : `, which differs in ${differing.join(', ')}: --apply changes it.`;
  return `${eventsStream} has the consumer ${name}${rest}`;
}

function nameOf([name, ...others]: readonly string[]): string {
  if (name === undefined || others.length > 0) throw new Misuse('One NAME is expected.');
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name) || name.startsWith('webhook-'))
    throw new Misuse(
      `NAME: 1 to 64 letters, digits, _ or -, not beginning with "webhook-"; not ${JSON.stringify(name)}.`,
    );
  return name;
}

function wantedOf(values: Call<typeof options>['values']) {
  const { subject, integration, since, inactive, 'from-start': fromStart, remove: isRemoved } = values;
  if (
    isRemoved &&
    [subject, integration, since, inactive, fromStart || undefined].some((one) => one !== undefined)
  )
    throw new Misuse(`--remove takes no option but --apply and --json.`);
  const wrong = subject?.find((one) => !/^events(?=\.)(\.(\*|[^\s.*>]+))*(\.>)?$/.test(one));
  if (wrong !== undefined)
    throw new Misuse(`--subject: expected a subject such as events.acme.>, not ${JSON.stringify(wrong)}.`);
  if (integration !== undefined && subject !== undefined)
    throw new Misuse('--integration names the subjects: leave out --subject.');
  if (integration !== undefined) checkIntegration(integration);
  if (fromStart && since !== undefined)
    throw new Misuse('--from-start and --since both say where the consumer begins.');
  const begin = since === undefined ? undefined : beginOf(since);
  return {
    filterSubjects: integration === undefined ? subject : [`events.${integration}.>`],
    deliver: fromStart ? ('all' as const) : begin,
    inactiveMs: inactive === undefined ? undefined : daysOf(inactive) * dayMs,
  };
}

function daysOf(text: string): number {
  const days = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (days < 1 || days > 365)
    throw new Misuse(`--inactive: a number of days from 1 to 365; not ${JSON.stringify(text)}.`);
  return days;
}

function beginOf(since: string): ConsumerBegin {
  if (/^\d{1,15}$/.test(since)) {
    if (Number(since) === 0) throw new Misuse('--since: the first sequence is 1.');
    return { sequence: Number(since) };
  }
  const time = parseInstant(since);
  if (time === undefined)
    throw new Misuse(
      `--since: expected a day, a date-time with Z or an offset, or a sequence; not ${JSON.stringify(since.slice(0, 80))}.`,
    );
  if (time.getTime() > Date.now()) throw new Misuse(`--since: ${time.toISOString()} is in the future.`);
  return { time };
}

/** Refuses a sequence that the stream does not have yet, and reports if messages after the begin have expired. */
async function checkBegin(bus: Bus, deliver: ConsumerBegin, output: Output): Promise<void> {
  if (typeof deliver === 'string') return;
  const { firstSequence, lastSequence } = await bus.streamFacts(eventsStream);
  if ('sequence' in deliver) {
    if (deliver.sequence > lastSequence + 1)
      throw new Misuse(`--since: the last event of ${eventsStream} has the sequence ${lastSequence}.`);
    if (deliver.sequence >= firstSequence) return;
  } else {
    // The login `ops` may read copies of the stream, and may not ask its leader for a message, as `bus.storedAt` does.
    const reading = { subject: eventsFilter, from: { sequence: firstSequence }, max: 1 };
    const [oldest] = await Array.fromAsync(bus.readStream(eventsStream, reading));
    if (oldest === undefined || oldest.storedAt <= deliver.time) return;
  }
  output.say(
    `${eventsStream} has no event from then any more: the consumer begins with the oldest, ${firstSequence}.`,
  );
}

async function remove(bus: Bus, name: string, isApplied: boolean, output: Output): Promise<ExitCode> {
  const found = await bus.findConsumer(eventsStream, name);
  if (found !== undefined && isApplied)
    await withinPatience(bus.removeConsumer(eventsStream, name), 'NATS does not remove the consumer');
  const isThere = found !== undefined && !isApplied;
  output.give({ name, isThere });
  if (isThere)
    output.say(
      `${eventsStream} has the consumer ${name}, with ${numberInWords(found.pending)} events before it: --apply removes it.`,
    );
  else output.say(`${eventsStream} has no consumer ${name}.`);
  return isThere ? exitCodes.wrong : exitCodes.well;
}
