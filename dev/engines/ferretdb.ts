// The engine where there is no mongod: FerretDB, built with Go, on PostgreSQL with DocumentDB from Debian.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startTogether } from '../process/in-turn.ts';
import type { RunningEngine } from './engine.ts';
import { makeOnce } from './make.ts';
import { checkPostgresql, makePostgresql, startPostgresql } from './postgresql.ts';
import type { RowContext } from './row.ts';
import { engineOf, startOnPort, startProgram } from './rows.ts';
import { pins } from './versions.ts';

export async function startFerretdb(context: RowContext): Promise<RunningEngine> {
  await checkPostgresql(context);
  const [postgresql = '', ferretdb = ''] = await startTogether([context.cache.signal], (signal) => {
    const together: RowContext = { ...context, cache: { ...context.cache, signal } };
    return [makePostgresql(together), makeFerretdb(together)];
  });
  await using started = new AsyncDisposableStack();
  const database = started.use(await startPostgresql(context, postgresql));
  const state = join(context.dataFolder, 'ferretdb');
  await mkdir(state, { recursive: true });
  const engine = await startOnPort(context.portWished, async (port) => {
    const child = await startProgram(context, {
      name: 'ferretdb',
      command: join(ferretdb, 'ferretdb'),
      args: [
        `--listen-addr=127.0.0.1:${port}`,
        `--postgresql-url=${database.url}`,
        '--no-auth',
        `--state-dir=${state}`,
        '--telemetry=disable',
        '--debug-addr=-',
      ],
      readyWhen: /Listening on TCP/,
    });
    const description = `FerretDB ${pins.ferretdb} on PostgreSQL ${pins.postgresql}, built`;
    return engineOf({ url: `mongodb://127.0.0.1:${port}` }, description, [database.child, child]);
  });
  started.move();
  return engine;
}

function makeFerretdb(context: RowContext): Promise<string> {
  const help = 'install Go 1.25 or newer, and see that it reaches its module proxy';
  return makeOnce(context, {
    name: `ferretdb-${pins.ferretdb}`,
    make: async ({ folder, step }) => {
      const module = `github.com/FerretDB/FerretDB/v2/cmd/ferretdb@v${pins.ferretdb}`;
      await step(`building FerretDB ${pins.ferretdb} with Go`, 'go', ['install', module], {
        environment: { ...context.environment, GOBIN: folder },
        help,
      });
    },
  });
}
