// integration-sync export: prints records as lines of JSON, which load and plan can read.
import { parseArgs } from 'node:util';
import { resolve, dirname, basename, join } from 'node:path';
import type { Client, Kind, ListedBatch, ListedProduct, ListedSupplier } from '@integration-sync/client';
import type { Command, Context } from '../command.ts';
import { connect, type Connection } from '../connection.ts';
import { exitCodes, Stop, type ExitCode } from '../core/exit.ts';
import { isKind, kinds } from '../core/kinds.ts';
import { connectionOptions, countOf, explained } from '../options.ts';
import { integrationOf, isSameTarget, targetText, type Target } from '../core/sending/target.ts';
import { replaceFile } from '../disk/replaced-file.ts';
import { readJson, writeJson } from '../disk/state-file.ts';

const usage = `Usage: integration-sync export suppliers|products|batches... [options]

Writes one kind as a line of JSON a record to standard output, or more kinds to files of a folder. load and plan take them.

  --out FOLDER         suppliers.ndjson, products.ndjson, batches.ndjson in there
  --archived           archived records too; a load would restore them
  --follow             changes as they come, each with its kind and syncStatus, until Ctrl-C
  --every SECONDS      between two polls (5)
  --from FILE          where --follow keeps how far it is, and goes on from
  --url, --key-file, --patience   as for load
`;

export const exportCommand: Command = {
  name: 'export',
  summary: 'write records as lines of JSON, or changes as they come',
  usage,
  async run(args, context) {
    const { values, positionals } = explained(
      () =>
        parseArgs({
          args: [...args],
          allowPositionals: true,
          options: {
            ...connectionOptions,
            out: { type: 'string' },
            archived: { type: 'boolean', default: false },
            follow: { type: 'boolean', default: false },
            every: { type: 'string', default: '5' },
            from: { type: 'string' },
          },
        }),
      usage,
    );
    if (values.help) {
      await context.streams.out(usage);
      return exitCodes.all;
    }
    const wanted = kinds.filter((kind) => positionals.includes(kind));
    const unknown = positionals.find((kind): boolean => !isKind(kind));
    if (unknown !== undefined || wanted.length === 0) throw new Stop(`Which kinds?\n\n${usage}`);
    const connection = await connect(context.environment, values, context.interrupt);
    if (values.follow)
      return follow(connection, wanted, context, countOf('every', values.every, 1, 86_400), values.from);
    if (wanted.length > 1 && values.out === undefined)
      throw new Stop('More than one kind needs --out FOLDER.');
    for (const kind of wanted) {
      const records = recordsOf(connection.client, kind, values.archived);
      if (values.out === undefined) for await (const text of records) await context.streams.out(text);
      else await replaceFile(join(resolve(values.out), `${kind}.ndjson`), records);
    }
    return exitCodes.all;
  },
};

type Listed = ListedSupplier | ListedProduct | ListedBatch;

/** The records as lines of JSON, page by page. */
async function* recordsOf(
  client: Client,
  kind: Kind,
  withArchived: boolean,
): AsyncGenerator<string, void, undefined> {
  for await (const { entities } of client.pages<Kind>(kind, { details: true })) {
    const kept = entities.filter(
      ({ syncStatus }) => syncStatus === 'SYNCED' || (withArchived && syncStatus === 'ARCHIVED'),
    );
    yield kept.map((entity) => `${JSON.stringify(itemOf(entity))}\n`).join('');
  }
}

const itemOf = ({ externalId, details }: Listed): object => ({ externalId, ...details?.fields });

/** A file of release 1.2.0 has no target. */
type Offsets = Partial<Record<Kind, string>> & { target?: Target };

/** Prints each changed record at least once: the times for the next run are written to the file `from` after all lines. */
async function follow(
  { client, url }: Connection,
  wanted: readonly Kind[],
  { streams, interrupt }: Context,
  everySeconds: number,
  from: string | undefined,
): Promise<ExitCode> {
  const file = from === undefined ? undefined : resolve(from);
  const offsets: Offsets =
    file === undefined ? {} : ((await readJson<Offsets>(dirname(file), basename(file))) ?? {});
  const target = { url, integration: await integrationOf(client) };
  // By an offset of another integration, changes before that offset would be left out.
  if (offsets.target !== undefined && !isSameTarget(offsets.target, target))
    throw new Stop(
      `${from} has the offset for ${targetText(offsets.target)}, but the key is for ${targetText(target)}: name another file.`,
    );
  offsets.target = target;
  for (;;) {
    for (const kind of wanted) {
      for await (const { entities, next } of client.poll<Kind>(kind, { changedSince: offsets[kind] })) {
        for (const entity of entities) await streams.out(`${JSON.stringify(changeOf(kind, entity))}\n`);
        if (next !== undefined) offsets[kind] = next;
      }
    }
    if (file !== undefined) await writeJson(dirname(file), basename(file), offsets);
    if (!(await pause(everySeconds * 1_000, interrupt))) return exitCodes.interrupted;
  }
}

const changeOf = (kind: Kind, entity: Listed): object => ({
  kind,
  syncStatus: entity.syncStatus,
  internalId: entity.internalId,
  changedAt: entity.details?.changedAt,
  item: entity.syncStatus === 'ERASED' ? null : itemOf(entity),
});

/** Waits for a time. Resolves with false as soon as the user interrupts. */
const pause = (ms: number, interrupt: AbortSignal): Promise<boolean> =>
  new Promise((done) => {
    const end = (): void => {
      clearTimeout(timer);
      done(false);
    };
    const timer = setTimeout(() => {
      interrupt.removeEventListener('abort', end);
      done(true);
    }, ms);
    if (interrupt.aborted) end();
    else interrupt.addEventListener('abort', end, { once: true });
  });
