// integration-sync singer: a Singer target, so that the records of any Singer tap can be pushed.
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Command, Context } from '../command.ts';
import { connect } from '../connection.ts';
import { exitCodes, messageOf, Stop, type ExitCode } from '../core/exit.ts';
import { parseMap } from '../core/mapping/map.ts';
import { connectionOptions, explained, fileOptions, lanesOf } from '../options.ts';
import { pushItems } from '../core/sending/push.ts';
import { Splitter } from '../core/reading/splitter.ts';
import { platform } from '../platform/node.ts';
import { Target } from '../singer/singer-target.ts';

const usage = `Usage: tap-... | integration-sync singer [--config FILE]

A Singer target: SCHEMA, RECORD, STATE and ACTIVATE_VERSION on standard input, STATE on standard output once all before it is
acknowledged. Streams are suppliers, products or batches by their names, or as the settings say:

  {"url": "https://sync.example.com", "key_file": "key", "rejects": "rejects", "prune_most": 10,
   "streams": {"public-vendors": {"kind": "suppliers", "columns": {"lifnr": "externalId", "name1": "name"}}}}

A stream takes what a file takes in a map of load. ACTIVATE_VERSION archives what the version lacks, as prune does.

  --config FILE        the settings, as Meltano gives them
  --lanes N            pushes in flight at most (64); how many there are depends on how the service answers
  --url, --key-file, --patience   as for load
`;

interface Settings {
  url?: string;
  key_file?: string;
  rejects?: string;
  prune_most?: unknown;
  streams?: object;
}

const idleMs = 1_000;

export const singer: Command = {
  name: 'singer',
  summary: 'take what a Singer tap writes',
  usage,
  async run(args, context) {
    const { values } = explained(
      () =>
        parseArgs({
          args: [...args],
          options: {
            ...connectionOptions,
            config: { type: 'string' },
            lanes: fileOptions.lanes,
          },
        }),
      usage,
    );
    if (values.help) {
      await context.streams.out(usage);
      return exitCodes.all;
    }
    const settings = values.config === undefined ? {} : await readSettings(values.config);
    const rules = parseMap(settings.streams ?? {}, values.config ?? '');
    const { client } = await connect(
      context.environment,
      {
        ...values,
        url: values.url ?? settings.url,
        'key-file': values['key-file'] ?? settings.key_file,
      },
      context.abort,
    );
    await using target = new Target({
      client,
      send: pushItems(client, false),
      rulesOf: (stream) => rules.get(stream) ?? {},
      inFlightMax: lanesOf(values.lanes),
      rejectsFolder: resolve(settings.rejects ?? 'rejects'),
      mostPercent: mostOf(settings, values.config),
      emit: (state) => context.streams.out(`${state}\n`),
      say: (text) => context.streams.err(text),
    });
    // The result is awaited here, because the files of rejected records are closed at the end of this function.
    return await takeAll(target, context);
  },
};

async function readSettings(file: string): Promise<Settings> {
  try {
    const settings: Settings | null = JSON.parse(await readFile(file, 'utf8'));
    if (typeof settings !== 'object' || settings === null) throw new Error('the file has no JSON object');
    return settings;
  } catch (error) {
    throw new Stop(`The settings ${file} cannot be read: ${messageOf(error)}`, undefined, { cause: error });
  }
}

/** Meltano may give a number as a text. A limit that is no number would allow any number of records. */
function mostOf({ prune_most: most }: Settings, file = ''): number {
  const percent = Number(most ?? 10);
  if (percent >= 0 && percent <= 100) return percent;
  throw new Stop(
    `The settings ${file}: prune_most is a number from 0 to 100, and not ${JSON.stringify(most)}.`,
  );
}

async function takeAll(target: Target, { input, streams, interrupt }: Context): Promise<ExitCode> {
  try {
    for await (const lines of linesOf(input, target)) {
      for (const line of lines) if (line.trim() !== '') await target.take(line);
      interrupt.throwIfAborted();
    }
    await target.drain();
  } catch (error) {
    // An invalid message ends the command, because a later STATE would acknowledge the record of that message, which was not
    // pushed.
    if (!(error instanceof Stop)) await target.stop();
    throw error;
  } finally {
    const { accepted, rejected } = target.counts;
    streams.err(`${accepted} records accepted, ${rejected} rejected\n`);
  }
  return target.exitCode;
}

/** If a tap pauses, waiting records are pushed, so that its STATE need not wait for the next record. */
async function* linesOf(
  input: AsyncIterable<Buffer>,
  target: Target,
): AsyncGenerator<string[], void, undefined> {
  const splitter = new Splitter({ delimiter: undefined, quotes: false, where: 'standard input' });
  const chunks = input[Symbol.asyncIterator]();
  for (;;) {
    const next = chunks.next();
    if (target.isWaiting && (await isSlow(next))) await target.drain();
    const { done, value } = await next;
    const block = done === true ? splitter.end() : splitter.push(value);
    if (block !== undefined && !platform.isUtf8(block))
      throw new Stop('Standard input is no UTF-8, as messages of Singer have to be.');
    if (block !== undefined) yield platform.utf8(block).split('\n');
    if (done === true) return;
  }
}

async function isSlow(next: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const slow = new Promise<boolean>((done) => {
    timer = setTimeout(() => done(true), idleMs);
  });
  try {
    return await Promise.race([slow, next.then(() => false)]);
  } finally {
    clearTimeout(timer);
  }
}
