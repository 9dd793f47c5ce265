// ops streams shows the streams and consumers of NATS with their faults, and repairs streams.
import type { Bus, InspectedStream, StreamSpec } from '@integration-sync/runtime/bus';
import { readFillings, type Filling } from '@integration-sync/runtime/filling';
import { expectedStreams, fillableOf } from '@integration-sync/webhooks/operating';
import { defineCommand, exitCodes } from '../command.ts';
import { StreamsConfig } from '../config.ts';
import { openOpsBus, openQuietBus, readSettings, withinPatience } from '../open-engines.ts';
import type { Output } from '../output.ts';
import { consumerTable, findingsOf, streamTable, type Finding } from './findings.ts';

const help = `Usage: ops streams [--apply] [--check] [--json]

Says which streams and consumers NATS has (copies, leaders, sizes, ages, when they will be full at the rate of the
last day, what waits), and what is wrong with them by this release and the settings.

  (nothing)  says what there is and what is wrong
  --apply    mends what can be mended without losing anything: makes what is missing, changes what differs, gives
             a stream the copies, days and bytes of the settings, never less without STREAMS_MAY_SHRINK=true
  --check    exit code 3 if something is wrong (with --apply, if something still is)
  --json     what was found as one JSON document

Settings, as the services have them: NATS_URL, STREAM_REPLICAS, EVENTS_KEEP_DAYS, EVENTS_MAX_BYTES,
STREAMS_MAY_SHRINK; NATS_MONITOR_URL for the limit of nats-server. For a setting that is left out, an existing stream
keeps its value.

Examples:
  ops streams
  ops streams --check --json | jq '.wrong[].what'
  STREAM_REPLICAS=3 ops streams --apply
  docker compose run --rm ops streams
`;

interface Looked {
  streams: InspectedStream[];
  /** When each stream will be full; empty if that is not known. */
  fillings: Filling[];
  wrong: Finding[];
}

export const streamsCommand = defineCommand({
  name: 'streams',
  summary: 'streams and consumers: what there is, what is wrong, and repairs',
  help,
  options: { check: { type: 'boolean', default: false } },
  async run(call) {
    const { values, output } = call;
    const settings = readSettings(StreamsConfig, call);
    await using bus = await openOpsBus(settings);
    const expected = expectedStreams(settings.config);
    const lookAhead = async (): Promise<Filling[]> => {
      await using quiet = await openQuietBus(settings);
      const { NATS_MONITOR_URL: monitorUrl } = settings.config;
      return await readFillings({ bus: quiet, streams: fillableOf(expected), monitorUrl }).catch(() => []);
    };
    const look = async (): Promise<Looked> => {
      const [streams, fillings] = await Promise.all([bus.inspectStreams(expected), lookAhead()]);
      return { streams, fillings, wrong: findingsOf(streams, fillings) };
    };
    const first = await look();
    if (!values.apply) {
      show(first, output);
      output.give(first);
      if (first.wrong.some((one) => one.repair === 'apply'))
        output.say('Nothing was changed. ops streams --apply mends what it can.');
      return values.check && first.wrong.length > 0 ? exitCodes.wrong : exitCodes.well;
    }
    const repairs = await repair(bus, expected, first.wrong);
    const after = await look();
    show(after, output);
    for (const { what, outcome } of repairs)
      output.say(`${outcome === 'done' ? 'Mended' : 'Not mended'}: ${what}`);
    for (const { words } of repairs) if (words !== undefined) output.say(words);
    output.give({ ...after, repairs });
    for (const note of bus.streamNotes()) if (note.startsWith('NATS refuses')) output.say(note);
    const isLeft =
      repairs.some(({ outcome }) => outcome === 'refused') ||
      after.wrong.some((one) => one.repair === 'apply');
    return isLeft || (values.check && after.wrong.length > 0) ? exitCodes.wrong : exitCodes.well;
  },
});

function show({ streams, fillings, wrong }: Looked, output: Output): void {
  const nowMs = Date.now();
  output.table(...streamTable(streams, fillings, nowMs));
  output.say();
  output.table(...consumerTable(streams, nowMs));
  output.say();
  if (wrong.length === 0) output.say('Nothing is wrong.');
  for (const { what, toDo } of wrong) output.say(`WRONG  ${what}\n       ${toDo}`);
}

// The command makes the repairs that a starting service makes, but for all streams (shared/runtime/src/bus/quantities.ts).

interface Repaired {
  what: string;
  outcome: 'done' | 'refused';
  words?: string;
}

async function repair(
  bus: Bus,
  expected: readonly StreamSpec[],
  wrong: readonly Finding[],
): Promise<Repaired[]> {
  const repaired: Repaired[] = [];
  for (const spec of expected) {
    const mended = wrong.filter((one) => one.stream === spec.name && one.repair === 'apply');
    if (mended.length > 0) repaired.push(...(await attempt(mended, () => bus.ensureStream(spec))));
  }
  return repaired;
}

/** A repair that fails, such as that of a stream without a leader, does not stop the repairs of other streams. */
async function attempt(findings: readonly Finding[], work: () => Promise<void>): Promise<Repaired[]> {
  try {
    await withinPatience(work(), 'NATS does not make the change');
    return findings.map(({ what }) => ({ what, outcome: 'done' }));
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const { message: words } = error;
    return findings.map(({ what }) => ({ what, outcome: 'refused', words }));
  }
}
