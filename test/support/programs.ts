// The programs that tests start as processes, each in one file. Node loads more than a thousand modules for a
// service, and tests start some two hundred processes: from one file, a service starts with a third of the
// processor time. The source is the same; `npm start` and `npm run storm` run the source files themselves.
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { bundle } from '@integration-sync/dev/bundle';

const root = join(import.meta.dirname, '../..');

const sources = {
  gateway: 'services/gateway/src/main.ts',
  catalog: 'services/catalog/src/main.ts',
  batches: 'services/batches/src/main.ts',
  webhooks: 'services/webhooks/src/main.ts',
  ops: 'services/ops/src/main.ts',
  stoppingService: 'test/support/processes/stopping-service.ts',
  answering: 'test/support/processes/answering.ts',
  life: 'test/component/runtime/processes/life.ts',
  speech: 'test/component/runtime/processes/speech.ts',
};

/** The gateway reads these pages, which are beside its source. */
const pages = 'explorer';

/** The path of each program. */
export type Programs = Record<keyof typeof sources, string>;

/**
 * In the repository, where programs find the packages' other files. The names of the files have a hash of their
 * content.
 */
const folder = join(root, '.local/programs');
const keptMs = 24 * 60 * 60 * 1_000;

export async function makePrograms(): Promise<Programs> {
  await mkdir(folder, { recursive: true });
  await removeOld();
  const made = await bundle({ sources, folder, fileName: '[name]-[hash].mjs' });
  return Object.fromEntries(made) as Programs;
}

/** Removes files that are older than a day: another run may be using younger ones. */
async function removeOld(): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name === pages) continue;
    const file = join(folder, name);
    const made = await stat(file).catch(() => undefined);
    if (made !== undefined && Date.now() - made.mtimeMs > keptMs) await rm(file, { force: true });
  }
}
