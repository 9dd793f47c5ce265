// ops streams: what NATS has, what is wrong with it, and the repairs.
import type { Bus, InspectedStream, StreamSpec } from '@integration-sync/runtime/bus';
import { readConfig } from '@integration-sync/runtime/config';
import { expectedStreams } from '@integration-sync/webhooks/operating';
import { Misuse, defineCommand, exitCodes, type Call, type ExitCode } from '../command.ts';
import { StreamsConfig } from '../config.ts';
import { openOpsBus, settle, withinPatience } from '../engines.ts';
import type { Output } from '../output.ts';
import { findingsOf, tablesOf, type Finding } from './findings.ts';

const help = `Usage: ops streams [--apply [--remove-left-over]] [--check] [--json]

Says which streams and consumers NATS has (copies, leaders, sizes, ages, what waits), and what is wrong with them by
this release and the settings.

  (nothing)           says what there is and what is wrong
  --apply             mends what can be mended without losing anything: makes what is missing, changes what differs, gives
                      a stream the copies, days and bytes of the settings. It takes none away, unless STREAMS_MAY_SHRINK=true
  --remove-left-over  with --apply: removes streams that only a release before reads, where nothing is in them
  --check             exit code 3 where something is wrong (with --apply, where something still is)
  --json              what was found as one JSON document

Settings, as the services have them: NATS_URL, STREAM_REPLICAS, EVENTS_KEEP_DAYS, EVENTS_MAX_BYTES,
STREAMS_MAY_SHRINK. One that is left out says nothing of a stream that is there.

Examples:
  ops streams
  ops streams --check --json | jq '.wrong[].what'
  STREAM_REPLICAS=3 ops streams --apply
  ops streams --apply --remove-left-over
  docker compose run --rm ops streams
`;

interface Looked {
  streams: InspectedStream[];
  wrong: Finding[];
}

const options = {
  'remove-left-over': { type: 'boolean', default: false },
  check: { type: 'boolean', default: false },
} as const;

async function run(call: Call<typeof options>): Promise<ExitCode> {
  const { values, output } = call;
  const removeLeftOver = values['remove-left-over'];
  if (removeLeftOver && !values.apply) throw new Misuse('--remove-left-over goes with --apply.');
  const settled = settle(readConfig(StreamsConfig, call.environment), call);
  await using bus = await openOpsBus(settled);
  const expected = expectedStreams(settled.config);
  const look = async (): Promise<Looked> => {
    const streams = await bus.inspectStreams(expected);
    return { streams, wrong: findingsOf(streams) };
  };
  const first = await look();
  if (!values.apply) {
    show(first, output);
    output.give(first);
    if (first.wrong.some((one) => one.repair === 'apply'))
      output.say('Nothing was changed. ops streams --apply mends what it can.');
    return values.check && first.wrong.length > 0 ? exitCodes.wrong : exitCodes.well;
  }
  const repairs = await repair(bus, expected, first.wrong, removeLeftOver);
  const after = await look();
  show(after, output);
  for (const { what, outcome } of repairs)
    output.say(`${outcome === 'done' ? 'Mended' : 'Not mended'}: ${what}`);
  for (const { words } of repairs) if (words !== undefined) output.say(words);
  output.give({ ...after, repairs });
  return conclude(
    after,
    bus,
    repairs.some(({ outcome }) => outcome === 'refused'),
    values.check,
    output,
  );
}

function show({ streams, wrong }: Looked, output: Output): void {
  for (const line of tablesOf(streams, Date.now())) output.say(line);
  output.say();
  if (wrong.length === 0) output.say('Nothing is wrong.');
  for (const { what, toDo } of wrong) output.say(`WRONG  ${what}\n       ${toDo}`);
}

function conclude(
  { wrong }: Looked,
  bus: Pick<Bus, 'streamNotes'>,
  isRefused: boolean,
  isCheck: boolean,
  output: Output,
): ExitCode {
  for (const note of bus.streamNotes()) if (note.startsWith('NATS refuses')) output.say(note);
  const isLeft = wrong.some((one) => one.repair === 'apply');
  return isRefused || isLeft || (isCheck && wrong.length > 0) ? exitCodes.wrong : exitCodes.well;
}

export const streams = defineCommand({
  name: 'streams',
  summary: 'streams and consumers: what there is, what is wrong, and repairs',
  help,
  options,
  run,
});

// The repairs: those of a start, at once and for all streams, and the removal of what only a release before reads. What a
// stream has it keeps, unless STREAMS_MAY_SHRINK says otherwise (shared/runtime/src/bus/quantities.ts).

interface Repaired {
  what: string;
  outcome: 'done' | 'refused';
  words?: string;
}

type Repairing = Pick<Bus, 'ensureStream' | 'removeStream'>;

export async function repair(
  bus: Repairing,
  expected: readonly StreamSpec[],
  wrong: readonly Finding[],
  removeLeftOver: boolean,
): Promise<Repaired[]> {
  const repaired: Repaired[] = [];
  for (const spec of expected) {
    const ofStream = wrong.filter(({ stream }) => stream === spec.name);
    const mended = ofStream.filter((one) => one.repair === 'apply');
    if (mended.length === 0) continue;
    const refusal = await refusalOf(() => bus.ensureStream(spec));
    repaired.push(...mended.map(({ what }) => outcomeOf(what, refusal)));
  }
  for (const { stream, what, repair: how } of wrong) {
    if (how !== 'left-over' || !removeLeftOver) continue;
    repaired.push(outcomeOf(what, await refusalOf(() => bus.removeStream(stream))));
  }
  return repaired;
}

/** Without a stream's leader, or where nats-server refuses, the other streams are mended all the same. */
async function refusalOf(work: () => Promise<void>): Promise<string | undefined> {
  try {
    await withinPatience(work(), 'NATS does not do it');
    return undefined;
  } catch (error) {
    if (error instanceof Error) return error.message;
    throw error;
  }
}

const outcomeOf = (what: string, refusal: string | undefined): Repaired =>
  refusal === undefined ? { what, outcome: 'done' } : { what, outcome: 'refused', words: refusal };
