// The services of the release before as programs, made from the sources of its commit and the packages of this checkout. They are
// kept in .local, because to make them takes seconds.
import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bundle } from '@integration-sync/dev/bundle';
import { former } from './data-set.ts';

export type FormerPrograms = Readonly<Record<keyof typeof sources, string>>;

const rooms = ['package.json', 'tsconfig.base.json', 'shared', 'services'];
const sources = {
  gateway: 'services/gateway/src/main.ts',
  catalog: 'services/catalog/src/main.ts',
  batches: 'services/batches/src/main.ts',
  webhooks: 'services/webhooks/src/main.ts',
  ops: 'services/ops/src/main.ts',
};
const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);

/** The path of each program of the release before. */
export async function formerPrograms(): Promise<FormerPrograms> {
  const lock = await readFile(join(root, 'package-lock.json'));
  const packages = createHash('sha256').update(lock).digest('hex').slice(0, 12);
  const folder = join(root, '.local/former', `${former.release}-${packages}`);
  if (!existsSync(folder)) await make(folder);
  const of = (name: string): string => join(folder, `${name}.mjs`);
  return {
    gateway: of('gateway'),
    catalog: of('catalog'),
    batches: of('batches'),
    webhooks: of('webhooks'),
    ops: of('ops'),
  };
}

/** The folder is there once it is complete: another run may make it at the same time. */
async function make(folder: string): Promise<void> {
  const draft = `${folder}-${randomUUID()}`;
  await mkdir(draft, { recursive: true });
  try {
    await extract(draft);
    await linkPackages(draft);
    const made = join(draft, 'programs');
    await bundle({ sources, folder: made, fileName: '[name].mjs', root: draft });
    await rename(made, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function extract(folder: string): Promise<void> {
  const archive = join(folder, 'sources.tar');
  try {
    await run('git', ['archive', '--output', archive, former.commit, ...rooms], { cwd: root });
  } catch (cause) {
    const missing = `The tests beside the release before need its commit ${former.commit.slice(0, 8)}`;
    throw new Error(`${missing}, which this clone lacks: git fetch --unshallow`, { cause });
  }
  await run('tar', ['-xf', archive, '-C', folder]);
}

/**
 * The packages of this checkout, but those of this repository from the release before. Only the release before uses
 * `@fastify/rate-limit`.
 */
async function linkPackages(folder: string): Promise<void> {
  const packages = join(folder, 'node_modules');
  const own = '@integration-sync';
  await mkdir(join(packages, own), { recursive: true });
  for (const name of await readdir(join(root, 'node_modules')))
    if (name !== own) await symlink(join(root, 'node_modules', name), join(packages, name));
  for (const room of ['shared', 'services'])
    for (const name of await readdir(join(folder, room)))
      await symlink(join('../..', room, name), join(packages, own, name));
  for (const nested of ['shared/sync', 'services/webhooks'])
    await symlink(join(root, nested, 'node_modules'), join(folder, nested, 'node_modules'));
}
