// load and plan: they read the same files in the same way, and differ in what they ask the service.
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Context } from '../command.ts';
import { connect, type Connection } from '../connection.ts';
import { exitCodes, Stop, type ExitCode } from '../core/exit.ts';
import { connectionOptions, explained, fileOptions, hoursOf, lanesOf, rulesOf } from '../options.ts';
import { count, counted } from '../core/count.ts';
import { Progress } from '../output.ts';
import { openSource, resolveInputs } from '../core/reading/inputs.ts';
import { placeOf, standardInput, type Input, type Source } from '../core/reading/source.ts';
import { Comparison, findingsInWords } from './comparison.ts';
import { keepState, readHistory, startKinds } from '../disk/history-file.ts';
import { Loading } from '../core/sending/loading.ts';
import { lockFolder } from '../disk/lock.ts';
import { Outputs } from '../disk/outputs.ts';
import { PlannedIds, planItems, pushItems } from '../core/sending/push.ts';
import type { History } from '../core/sending/history.ts';
import { withRejectedIds } from '../core/sending/rejected-ids.ts';
import { markOf, stopAfter, stopOf } from '../core/sending/refusals.ts';
import { inWords, summarize } from '../core/sending/report.ts';
import type { LoadState } from '../core/sending/state.ts';
import { integrationOf, isSameTarget, targetText } from '../core/sending/target.ts';
import { readJson, stateFile } from '../disk/state-file.ts';
import { insteadOf, newState, resumedState } from './load-state.ts';
import { readMapFile } from './map-file.ts';
import { printSample } from './sample.ts';

export const loadOptions = {
  ...connectionOptions,
  ...fileOptions,
  results: { type: 'string' },
  state: { type: 'string', default: '.integration-sync' },
  resume: { type: 'boolean', default: false },
  sample: { type: 'boolean', default: false },
  'expect-every': { type: 'string' },
} as const;

const readArguments = (args: readonly string[]) =>
  parseArgs({ args: [...args], options: loadOptions, allowPositionals: true });

type Values = ReturnType<typeof readArguments>['values'];

const firstAnswerMsMax = 15_000;

/** The commands that read files. A plan changes nothing; verify is a plan that also finds records that no file has. */
export type Way = 'load' | 'plan' | 'verify';

export async function runLoad(
  args: readonly string[],
  context: Context,
  usage: string,
  way: Way,
): Promise<ExitCode> {
  const isPlan = way !== 'load';
  const { values, positionals } = explained(() => readArguments(args), usage);
  if (values.help) {
    await context.streams.out(usage);
    return exitCodes.all;
  }
  const every = values['expect-every'];
  const everyHours = every === undefined ? undefined : hoursOf('expect-every', every);
  const inFlightMax = lanesOf(values.lanes);
  if (isPlan && values.resume) throw new Stop('A plan changes nothing, so there is nothing to resume.');
  const wanted = values.resume ? [] : await inputsOf(values, positionals, usage);
  if (values.sample) return printSample(wanted, context);
  // Until the first push a single Ctrl-C ends requests in flight, because no push needs its answer.
  const early = new AbortController();
  const leave = (): void => early.abort(context.interrupt.reason);
  context.interrupt.addEventListener('abort', leave);
  const signal = AbortSignal.any([context.abort, early.signal]);
  const connection = await connect(context.environment, values, signal);
  const folder = isPlan || positionals.includes(standardInput) ? undefined : resolve(values.state);
  await using _lock = folder === undefined ? undefined : await lockFolder(folder, workOf(args));
  const resumed = values.resume ? await resumedState(values, positionals) : undefined;
  const history = positionals.includes(standardInput) ? {} : await readHistory(resolve(values.state));
  const sources = await look(resumed?.files ?? wanted, history, context);
  const state = resumed ?? (await newState({ values, sources, url: connection.url, isPlan, history }));
  await greet(connection, state, !isPlan && resumed === undefined, values);
  if (!isPlan) await meetIntegration(connection, state, resumed !== undefined);
  // Before `startKinds` notes in the history that a load has begun: the key may lack the scope to set expectations.
  if (everyHours !== undefined && !isPlan) await expectEvery(everyHours, connection, state);
  if (folder !== undefined && resumed === undefined) {
    context.streams.err(insteadOf(await readJson<LoadState>(folder, stateFile)));
    await startKinds(folder, state);
  }
  if (!isPlan) context.interrupt.removeEventListener('abort', leave);
  // The result is awaited here, because the lock is released at the end of this function.
  return await carryOut({
    state,
    sources,
    folder,
    isPlan,
    isVerified: way === 'verify',
    isResumed: resumed !== undefined,
    values,
    inFlightMax,
    context,
    connection,
  });
}

const workOf = (args: readonly string[]): string => ['load', ...args].join(' ').slice(0, 200);

async function inputsOf(values: Values, files: readonly string[], usage: string): Promise<Input[]> {
  if (files.length === 0) throw new Stop(`Which files?\n\n${usage}`);
  const map = await readMapFile(values.map);
  return resolveInputs({ files, map, rules: rulesOf(values) });
}

/** Reads all files once before anything is sent, so that a file with errors stops the load early. */
async function look(
  inputs: readonly Input[],
  history: History,
  { streams, input: piped, interrupt }: Context,
): Promise<Source[]> {
  const sources: Source[] = [];
  for (const input of inputs) {
    interrupt.throwIfAborted();
    const opened = await openSource(input, input.path === standardInput ? csvOf(piped) : undefined);
    const source = await withRejectedIds(opened, history);
    const rows = source.total === undefined ? '' : `, ${counted(source.total, 'row')}`;
    streams.err(`${placeOf(input)}: ${[`${input.kind}${rows}`, ...source.notes].join('; ')}\n`);
    sources.push(source);
  }
  return sources;
}

/** The bytes of standard input. Throws if standard input is JSON. */
async function* csvOf(piped: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  let isBegun = false;
  for await (const chunk of piped) {
    if (!isBegun && /^\s*(?:\[\s*)?\{/.test(String.fromCharCode(...chunk.subarray(0, 80))))
      throw new Stop('Standard input is JSON, and may only be CSV: write the JSON to a file.');
    isBegun = true;
    yield chunk;
  }
}

/**
 * The first answer shows that the service is reachable. It has the rate limit and the mark for prune, a time before the load. A
 * resumed load keeps its earlier mark: with a new one, prune would archive the records from before the interruption.
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
  // Any answer ends the time-out: it may be a 429 or a 503, after which the client repeats the call for --patience.
  void answering.then(() => clearTimeout(timer));
  for (const kind of new Set(state.files.map((file) => file.kind))) {
    try {
      const mark = await markOf(client, kind, signal);
      if (takesMarks && mark !== undefined) state.marks[kind] ??= mark;
    } catch (error) {
      if (signal.aborted) throw new Stop(`${state.url} does not answer.`, exitCodes.unfinished);
      throw stopOf(error);
    }
  }
}

/** Compares the integration of the key with that of the resumed load; a new load stores the integration in its state. */
async function meetIntegration({ url, client }: Connection, state: LoadState, isResumed: boolean) {
  const integration = await integrationOf(client);
  if (!isResumed) state.integration = integration;
  const own = { url, integration };
  if (isSameTarget(state, own)) return;
  throw new Stop(
    `The load that is to be resumed went to ${targetText(state)}, and not to ${targetText(own)}.`,
  );
}

/** Sets expectations before the first push, so that a load that fails later is reported as overdue. */
async function expectEvery(everyHours: number, { client }: Connection, { files }: LoadState): Promise<void> {
  const kinds = new Set(files.map(({ kind }) => kind));
  const expected = Object.fromEntries([...kinds].map((kind) => [kind, { everyHours }]));
  await client.expectations.set(expected).catch((error: unknown) => {
    throw stopOf(error);
  });
}

interface CarryingOut {
  state: LoadState;
  sources: readonly Source[];
  folder: string | undefined;
  isPlan: boolean;
  isVerified: boolean;
  isResumed: boolean;
  values: Values;
  inFlightMax: number;
  context: Context;
  connection: Connection;
}

async function carryOut(how: CarryingOut): Promise<ExitCode> {
  const { state, sources, folder, isPlan, context, values } = how;
  const begunAt = performance.now();
  const progress = new Progress(context.streams);
  await using outputs = await Outputs.open(state, folder, how.isResumed);
  const planned = new PlannedIds();
  const kindsOf = new Set(state.files.map(({ kind }) => kind));
  const comparison = how.isVerified ? new Comparison(kindsOf) : undefined;
  const loading = new Loading({
    state,
    sources,
    outputs,
    keep: folder === undefined ? undefined : (now) => keepState(folder, now),
    send: isPlan
      ? planItems(how.connection.client, planned)
      : pushItems(how.connection.client, state.autoCreateDDS),
    inFlightMax: how.inFlightMax,
    interrupt: context.interrupt,
    ...(isPlan ? { accepted: planned.add.bind(planned) } : {}),
    ...(comparison === undefined ? {} : { judged: comparison.judge.bind(comparison) }),
    progressed: (file, rows, total) => {
      const seconds = (performance.now() - begunAt) / 1_000;
      progress.show(() => [
        `${file.kind} ${total === undefined ? counted(rows, 'row') : `${count(rows)}/${count(total)}`}`,
        `${count(file.counts.rejected)} rejected`,
        `${seconds.toFixed(0)} s`,
      ]);
    },
  });
  let stopped: Stop | undefined;
  try {
    await loading.run();
  } catch (error) {
    stopped = truthful(stopAfter(error, context.interrupt), !isPlan && loading.hasStored, folder);
    // If this save fails, for example because the disk is full, the earlier saved state remains.
    await loading.save().catch(() => undefined);
  }
  progress.clear();
  // If the plan has stopped early, further differences are not known.
  const findings =
    stopped === undefined ? await comparison?.end(how.connection.client, context.interrupt) : undefined;
  const summary = summarize(state, loading.reasons, (performance.now() - begunAt) / 1_000);
  const words = inWords(summary, isPlan, findings === undefined);
  await context.streams.out(
    values.json
      ? `${JSON.stringify({ ...summary, ...findings }, undefined, 2)}\n`
      : words + (findings === undefined ? '' : findingsInWords(findings)),
    true,
  );
  if (stopped !== undefined) throw stopped;
  const isWhole = summary.total.rejected === 0 && (findings?.differences ?? 0) === 0;
  return isWhole ? exitCodes.all : exitCodes.rejected;
}

/** Says how to go on after rows were stored, and corrects the exit code: code 3 must mean that no row was stored. */
function truthful(stop: Stop, hasStored: boolean, folder: string | undefined): Stop {
  if (!hasStored) return stop;
  const hint = folder === undefined ? 'load it once more' : 'load --resume goes on';
  const code = stop.exitCode === exitCodes.interrupted ? exitCodes.interrupted : exitCodes.unfinished;
  return new Stop(`${stop.message}\nRows before this are stored: ${hint}.`, code, { cause: stop });
}
