// load and plan: they read the same files in the same way, and differ in what they ask the service.
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Kind, PlanOptions } from '@integration-sync/client';
import type { Context } from '../command.ts';
import { connect, stopOf, type Connection } from '../connection.ts';
import { exitCodes, Stop, type ExitCode } from '../exit.ts';
import { referenceOf } from '../kinds.ts';
import { readMap } from '../mapping/map.ts';
import { connectionOptions, countOf, explained, fileOptions, rulesOf } from '../options.ts';
import { count, Progress } from '../output.ts';
import { hashOf, standardInput } from '../reading/bytes.ts';
import { openSource, resolveInputs } from '../reading/inputs.ts';
import { placeOf, type Input, type Source } from '../reading/source.ts';
import { startKinds } from '../sending/history.ts';
import { interrupted, Loading, type SendItems } from '../sending/loading.ts';
import { Outputs } from '../sending/outputs.ts';
import { planUnchecked, pushUnchecked } from '../sending/push.ts';
import { inWords, summarize } from '../sending/report.ts';
import { noCounts, readJson, stateFile, type FileState, type LoadState } from '../sending/state.ts';
import { printSample } from './sample.ts';

export const loadOptions = {
  ...connectionOptions,
  ...fileOptions,
  results: { type: 'string' },
  state: { type: 'string', default: '.integration-sync' },
  resume: { type: 'boolean', default: false },
  sample: { type: 'boolean', default: false },
} as const;

const readArguments = (args: readonly string[]) =>
  parseArgs({ args: [...args], options: loadOptions, allowPositionals: true });

type Values = ReturnType<typeof readArguments>['values'];

const firstAnswerMsMax = 15_000;

export async function runLoad(
  args: readonly string[],
  context: Context,
  usage: string,
  isPlan: boolean,
): Promise<ExitCode> {
  const { values, positionals } = explained(() => readArguments(args), usage);
  if (values.help) {
    await context.streams.out(usage);
    return exitCodes.all;
  }
  const resumed = values.resume ? await resumedState(values, positionals, isPlan) : undefined;
  const inputs = resumed?.files ?? (await inputsOf(values, positionals, usage));
  if (values.sample) return printSample(inputs, context);
  const connection = await connect(context.environment, values, context.abort);
  if (resumed !== undefined && resumed.url !== connection.url) {
    throw new Stop(`The load that is to be resumed went to ${resumed.url}, and not to ${connection.url}.`);
  }
  const sources = await look(inputs, context);
  const state = resumed ?? (await newState(values, inputs, connection, isPlan));
  const isPiped = inputs.some(({ path }) => path === standardInput);
  const folder = isPlan || isPiped ? undefined : resolve(values.state);
  await greet(connection, state, !isPlan && resumed === undefined, values);
  if (folder !== undefined && resumed === undefined) await startKinds(folder, state);
  return carryOut({
    state,
    sources,
    folder,
    isPlan,
    isResumed: resumed !== undefined,
    values,
    context,
    connection,
  });
}

async function inputsOf(values: Values, files: readonly string[], usage: string): Promise<Input[]> {
  if (files.length === 0) throw new Stop(`Which files?\n\n${usage}`);
  const map = values.map === undefined ? new Map() : await readMap(values.map);
  return resolveInputs({ files, map, rules: rulesOf(values) });
}

async function resumedState(values: Values, files: readonly string[], isPlan: boolean): Promise<LoadState> {
  if (isPlan) throw new Stop('A plan changes nothing, so there is nothing to resume.');
  const state = await readJson<LoadState>(resolve(values.state), stateFile);
  if (state === undefined) throw new Stop(`There is no load to resume in ${values.state}.`);
  if (state.phase === 'finished') throw new Stop('The last load has finished: there is nothing to resume.');
  if (files.some((file) => !state.files.some(({ path }) => path === resolve(file)))) {
    throw new Stop('--resume goes on with the files of the load that was interrupted, and takes no others.');
  }
  for (const { path, hash } of state.files) {
    if ((await hashOf(path)) !== hash) {
      throw new Stop(`${path} is not what it was when the load began: load it anew, without --resume.`);
    }
  }
  return state;
}

/** Reads all files once before anything is sent, so that a file with errors stops the load early. */
async function look(
  inputs: readonly Input[],
  { streams, input: piped, interrupt }: Context,
): Promise<Source[]> {
  const sources: Source[] = [];
  for (const input of inputs) {
    interrupt.throwIfAborted();
    const source = await openSource(input, input.path === standardInput ? piped : undefined);
    const rows = source.total === undefined ? '' : `, ${count(source.total)} rows`;
    streams.err(`${placeOf(input)}: ${[`${input.kind}${rows}`, ...source.notes].join('; ')}\n`);
    sources.push(source);
  }
  return sources;
}

async function newState(
  values: Values,
  inputs: readonly Input[],
  { url }: Connection,
  isPlan: boolean,
): Promise<LoadState> {
  const files: FileState[] = [];
  for (const input of inputs) {
    const hash = input.path === standardInput || isPlan ? '' : await hashOf(input.path);
    files.push({ ...input, hash, row: 0, reach: 0, counts: noCounts(), rejects: undefined });
  }
  return {
    version: 1,
    url,
    phase: 'loading',
    startedAt: new Date().toISOString(),
    autoCreateDDS: values['auto-create-dds'],
    rejectsFolder: isPlan && values.rejects === undefined ? undefined : resolve(values.rejects ?? 'rejects'),
    files,
    results: values.results === undefined ? undefined : { path: resolve(values.results), bytes: 0 },
    deferredBytes: 0,
    rejectedIdsBytes: 0,
    marks: {},
  };
}

/**
 * The first answer shows that the service is reachable, its rate limit, and the mark for prune: a time before the load.
 * A resumed load takes no mark: prune would archive the records from before the interruption.
 */
async function greet(
  { client, answering }: Connection,
  state: LoadState,
  takesMarks: boolean,
  { patience }: Values,
): Promise<void> {
  const silence = new AbortController();
  const { signal } = silence;
  const waitMs = Math.min(firstAnswerMsMax, Number(patience) * 1_000);
  const timer = setTimeout(() => silence.abort(), waitMs).unref();
  // A service that answers may still say to wait for its rate limit.
  void answering.then(() => clearTimeout(timer));
  for (const kind of new Set(state.files.map((file) => file.kind))) {
    try {
      const { value } = await client.pages(kind, { limit: 1, signal }).next();
      const mark = value === undefined ? undefined : value.nextSince;
      if (takesMarks && mark !== undefined) state.marks[kind] ??= mark;
    } catch (error) {
      if (signal.aborted) throw new Stop(`${state.url} does not answer.`, exitCodes.unreachable);
      const stop = stopOf(error);
      // A key without the scope to read can load. Prune then refuses, because it lacks the mark.
      if (!stop.message.startsWith('403')) throw stop;
    }
  }
}

interface CarryingOut {
  state: LoadState;
  sources: readonly Source[];
  folder: string | undefined;
  isPlan: boolean;
  isResumed: boolean;
  values: Values;
  context: Context;
  connection: Connection;
}

async function carryOut(how: CarryingOut): Promise<ExitCode> {
  const { state, sources, folder, isPlan, context, values } = how;
  const begunAt = Date.now();
  const progress = new Progress(context.streams);
  await using outputs = await Outputs.open(state, folder, how.isResumed);
  const planned = new Map<Kind, Set<string>>();
  const loading = new Loading({
    state,
    sources,
    outputs,
    folder,
    send: isPlan ? planItems(how, planned) : pushItems(how),
    inFlightMax: countOf('lanes', values.lanes, 1, 64),
    interrupt: context.interrupt,
    ...(isPlan ? { accepted: (kind: Kind, id: string) => addTo(planned, kind, id) } : {}),
    progressed: (file, row, total) => {
      const seconds = (Date.now() - begunAt) / 1_000;
      progress.show(() => {
        const of = total === undefined ? '' : ` of ${count(total)}`;
        return `${file.kind}: ${count(row)}${of} rows, ${count(file.counts.rejected)} rejected, ${seconds.toFixed(0)} s`;
      });
    },
  });
  let stopped: Stop | undefined;
  try {
    await loading.run();
  } catch (error) {
    stopped = context.interrupt.aborted ? interrupted() : stopOf(error);
    // If the disk is full, the state that was saved before remains.
    await loading.save().catch(() => undefined);
  }
  progress.clear();
  const summary = summarize(state, loading.reasons, (Date.now() - begunAt) / 1_000);
  await context.streams.out(
    values.json ? `${JSON.stringify(summary, undefined, 2)}\n` : inWords(summary, isPlan),
  );
  if (stopped !== undefined) throw stopped;
  return summary.total.rejected > 0 ? exitCodes.rejected : exitCodes.all;
}

const pushItems =
  ({ connection: { client }, state }: CarryingOut): SendItems =>
  (kind, items) =>
    pushUnchecked(
      client,
      kind,
      items,
      kind === 'batches' && state.autoCreateDDS ? { autoCreateDDS: true } : {},
    );

/** Records that earlier rows of the plan would create count as existing. */
const planItems =
  ({ connection: { client } }: CarryingOut, planned: ReadonlyMap<Kind, ReadonlySet<string>>): SendItems =>
  (kind, items) => {
    const reference = referenceOf[kind];
    const known = reference === undefined ? undefined : planned.get(reference.to);
    const options: PlanOptions = {};
    if (reference !== undefined && known !== undefined) {
      const named = new Set(items.map((item) => item[reference.field]));
      options.assume = [...named].filter((id): id is string => typeof id === 'string' && known.has(id));
    }
    return planUnchecked(client, kind, items, options);
  };

function addTo(planned: Map<Kind, Set<string>>, kind: Kind, id: string): void {
  const ids = planned.get(kind) ?? new Set();
  // A copy: V8 may keep an id as a slice of a large text, which then stays in memory.
  planned.set(kind, ids.add(Buffer.from(id).toString()));
}
