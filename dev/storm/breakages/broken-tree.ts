// A copy of the services that is broken in one way. It lies within the repository, so that it finds the same packages.
import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { globSync } from 'node:fs';
import { basename, join } from 'node:path';
import { repositoryFolder, serviceNames } from '../../stack/services.ts';
import type { Breakage } from './list.ts';

export interface BrokenTree extends AsyncDisposable {
  /** The main file of each service in the copy. */
  programs: Readonly<Record<string, string>>;
}

/** `folder` is within the repository. */
export async function breakTree(breakage: Breakage, folder: string): Promise<BrokenTree> {
  await rm(folder, { recursive: true, force: true });
  for (const room of ['shared', 'services']) {
    await cp(join(repositoryFolder, room), join(folder, room), { recursive: true, verbatimSymlinks: true });
  }
  const packages = join(folder, 'node_modules/@integration-sync');
  await mkdir(packages, { recursive: true });
  for (const path of globSync('{shared,services}/*', { cwd: folder })) {
    await symlink(join('../..', path), join(packages, basename(path)));
  }
  const path = join(folder, breakage.file);
  await writeFile(path, brokenText(breakage, await readFile(path, 'utf8')));
  const programs = Object.fromEntries(
    serviceNames.map((service) => [service, join(folder, 'services', service, 'src/main.ts')]),
  );
  return { programs, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

export function brokenText({ name, file, search, replace }: Breakage, text: string): string {
  const [before, after, ...others] = text.split(search);
  if (before === undefined || after === undefined || others.length > 0) {
    throw new Error(`${name}: ${file} does not hold its line once: ${search.trim()}`);
  }
  return `${before}${replace}${after}`;
}
