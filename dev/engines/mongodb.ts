// The sources of MongoDB, and how mongod runs. The last source, FerretDB, has a file of its own.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunningEngine } from './engine.ts';
import { startFerretdb } from './ferretdb.ts';
import { makeOnce } from './make.ts';
import type { RowContext, Rows } from './row.ts';
import { engineOf, findOnPath, startFromImage, startOnPort, startProgram } from './rows.ts';
import { minimums, pins } from './versions.ts';

export const mongodbRows: Rows = {
  docker: (context) =>
    startFromImage(context, {
      image: context.environment['MONGODB_IMAGE'] || pins.mongodbImage,
      ports: [27_017],
      data: '/data/db',
      readyWhen: /Waiting for connections/,
      addresses: ([port]) => ({ url: `mongodb://127.0.0.1:${port}` }),
    }),
  async path(context) {
    const version = await findOnPath(context, 'mongod', minimums.mongod);
    return runMongod(context, 'mongod', `mongod ${version} on PATH`);
  },
  async download(context) {
    const folder = await makeOnce(context, {
      name: `mongod-${pins.mongod}`,
      make: async ({ folder: draft, step }) => {
        // mongodb-memory-server prints, reads the environment, and cannot be stopped, so it runs in a process of its own.
        const fetcher = join(import.meta.dirname, 'fetch-mongod.ts');
        await step(`downloading mongod ${pins.mongod}`, process.execPath, [fetcher, pins.mongod, draft], {
          help: 'install mongod 7 or newer, or Docker',
          environment: {
            ...context.environment,
            MONGOMS_MAX_RETRIES: context.environment['MONGOMS_MAX_RETRIES'] ?? '1',
          },
        });
      },
    });
    return runMongod(context, join(folder, 'mongod'), `mongod ${pins.mongod}, downloaded`);
  },
  build: startFerretdb,
};

async function runMongod(context: RowContext, program: string, description: string): Promise<RunningEngine> {
  const { dataFolder, portWished } = context;
  await mkdir(dataFolder, { recursive: true });
  return startOnPort(portWished, async (port) => {
    const child = await startProgram(context, {
      name: 'mongod',
      command: program,
      args: ['--bind_ip', '127.0.0.1', '--port', String(port), '--dbpath', dataFolder],
      readyWhen: /Waiting for connections/,
      readyWithinMs: 60_000,
    });
    return engineOf({ url: `mongodb://127.0.0.1:${port}` }, description, [child]);
  });
}
