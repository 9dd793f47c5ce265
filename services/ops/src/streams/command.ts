// ops streams: what NATS has, what is wrong with it, and the repairs.
import { parseArgs } from 'node:util';
import type { Bus, InspectedStream } from '@integration-sync/runtime/bus';
import { readConfig, type Environment } from '@integration-sync/runtime/config';
import { expectedStreams } from '@integration-sync/webhooks/operating';
import { commonOptions, exitCodes, Misuse, type Command, type ExitCode, type Stop } from '../command.ts';
import { StreamsConfig } from '../config.ts';
import { openOpsBus, openOpsLog } from '../engines.ts';
import type { Output } from '../output.ts';
import { findingsOf, type Finding } from './findings.ts';
import { repair } from './repair.ts';
import { tablesOf } from './tables.ts';

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

async function run(
  args: readonly string[],
  environment: Environment,
  output: Output,
  stop: Stop,
): Promise<ExitCode> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...commonOptions,
      'remove-left-over': { type: 'boolean', default: false },
      check: { type: 'boolean', default: false },
    },
  });
  const removeLeftOver = values['remove-left-over'];
  if (removeLeftOver && !values.apply) throw new Misuse('--remove-left-over goes with --apply.');
  const config = readConfig(StreamsConfig, environment);
  await using bus = await openOpsBus(config, openOpsLog(config, output), stop);
  const expected = expectedStreams(config);
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

export const streams: Command = {
  name: 'streams',
  summary: 'streams and consumers: what there is, what is wrong, and repairs',
  help,
  run,
};
