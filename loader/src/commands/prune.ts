// integration-sync prune: shows the records that the last full load did not name, and archives them with --apply.
import { parseArgs } from 'node:util';
import { resolve } from 'node:path';
import type { Client } from '@integration-sync/client';
import type { Command, Context } from '../command.ts';
import { connect } from '../connection.ts';
import { exitCodes, Stop, type ExitCode } from '../core/exit.ts';
import { isKind, kinds } from '../core/kinds.ts';
import { connectionOptions, countOf, explained } from '../options.ts';
import { count } from '../core/count.ts';
import { checked } from '../core/sending/history.ts';
import { integrationOf } from '../core/sending/target.ts';
import { readHistory } from '../disk/history-file.ts';
import { lockFolder } from '../disk/lock.ts';
import { find, refusal, tooMany, type Found } from '../core/sending/unnamed.ts';

const usage = `Usage: integration-sync prune [suppliers|products|batches]... [options]

Shows the records that no row of the last load named, and archives them with --apply. The load must have had all rows of its
kind: of a file of changes, everything else would be gone. Rejected rows count as loaded.

  --apply              archive them
  --most PERCENT       refuse where more than this part of the records would be archived (10)
  --state FOLDER       where the load has kept how far it was (.integration-sync/)
  --url, --key-file, --patience, --json   as for load
`;

const shownIds = 20;

export const prune: Command = {
  name: 'prune',
  summary: 'archive what the last full load did not have',
  usage,
  async run(args, context) {
    const { values, positionals } = explained(
      () =>
        parseArgs({
          args: [...args],
          allowPositionals: true,
          options: {
            ...connectionOptions,
            apply: { type: 'boolean', default: false },
            most: { type: 'string', default: '10' },
            state: { type: 'string', default: '.integration-sync' },
          },
        }),
      usage,
    );
    if (values.help) {
      await context.streams.out(usage);
      return exitCodes.all;
    }
    const most = countOf('most', values.most, 0, 100);
    const unknown = positionals.find((kind): boolean => !isKind(kind));
    if (unknown !== undefined) throw new Stop(`"${unknown}" is no kind of records.\n\n${usage}`);
    const { client, url } = await connect(context.environment, values, context.interrupt);
    const folder = resolve(values.state);
    const isLoaded = Object.keys(await readHistory(folder)).length > 0;
    // Prune locks the folder, because a load that begins during a prune may name records that this prune archives.
    await using _lock = isLoaded ? await lockFolder(folder, 'prune') : undefined;
    const history = await readHistory(folder);
    const loaded = kinds.filter((kind) => history[kind] !== undefined);
    const wanted = positionals.length === 0 ? loaded : kinds.filter((kind) => positionals.includes(kind));
    if (wanted.length === 0)
      throw new Stop(`There is no load in ${values.state}: prune needs the last load.`);
    const target = { url, integration: await integrationOf(client) };
    // Batches are archived before the products to which they refer, and products before their suppliers.
    const found: Found[] = [];
    for (const kind of wanted.toReversed())
      found.push(await find(client, kind, checked(history[kind], kind, target)));
    // The result is awaited here, because the lock is released at the end of this function.
    return await carryOut({ client, found, most, apply: values.apply, json: values.json, context });
  },
};

interface Pruning {
  client: Client;
  found: readonly Found[];
  most: number;
  apply: boolean;
  json: boolean;
  context: Context;
}

async function carryOut({ client, found, most, apply, json, context }: Pruning): Promise<ExitCode> {
  for (const { kind, ids, total } of found)
    if (tooMany(ids.length, total, most)) throw new Stop(refusal(kind, ids.length, total, most));
  for (const { kind, ids } of found) if (apply) await client.archive(kind, ids, context.interrupt);
  const summary = found.map(({ kind, ids, total }) => ({
    kind,
    total,
    gone: ids.length,
    archived: apply,
    ids,
  }));
  await context.streams.out(json ? `${JSON.stringify(summary, undefined, 2)}\n` : inWords(found, apply));
  return exitCodes.all;
}

function inWords(found: readonly Found[], isApplied: boolean): string {
  const lines = found.flatMap(({ kind, ids, total }) => [
    `${kind}: ${count(ids.length)} of ${count(total)} records were not in the last load${isApplied && ids.length > 0 ? ', and are archived now' : ''}`,
    ...ids.slice(0, shownIds).map((id) => `  ${id}`),
    ...(ids.length > shownIds ? [`  and ${count(ids.length - shownIds)} more (--json has all)`] : []),
  ]);
  const isLeft = !isApplied && found.some(({ ids }) => ids.length > 0);
  return `${[...lines, ...(isLeft ? ['Nothing is changed: --apply archives them.'] : [])].join('\n')}\n`;
}
