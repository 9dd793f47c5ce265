// npm run storm -- breakages: a brief storm on each broken copy of the services. The storm must name the breakage.
import { globSync } from 'node:fs';
import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { repositoryFolder, serviceNames } from '../../stack/services.ts';
import { verify } from '../check/verify.ts';
import { runStorm, type RunOptions } from '../run.ts';
import { breakages, brokenText, type Breakage } from './list.ts';

type Trying = Pick<RunOptions, 'say' | 'signal'>;

const seed = 7;

/** Runs a storm on each breakage; resolves with whether the storm found each under its class of violations. */
export async function tryBreakages(names: readonly string[], trying: Trying): Promise<boolean> {
  const unknown = names.find((name) => !breakages.some((breakage) => breakage.name === name));
  if (unknown !== undefined) {
    throw new RangeError(
      `there is no breakage "${unknown}", but ${breakages.map(({ name }) => name).join(', ')}`,
    );
  }
  const results: boolean[] = [];
  for (const breakage of breakages) {
    if (names.length === 0 || names.includes(breakage.name)) results.push(await isNamed(breakage, trying));
  }
  return results.every(Boolean);
}

async function isNamed(breakage: Breakage, { say, signal }: Trying): Promise<boolean> {
  const { name, says, found, seconds, without } = breakage;
  const own = join(repositoryFolder, '.local/breakages', name);
  say(`${name}: ${says}`);
  const begunMs = performance.now();
  await using ending = new AsyncDisposableStack();
  const tree = join(own, 'tree');
  ending.defer(() => rm(tree, { recursive: true, force: true }));
  // The processes of the storm inherit this variable.
  process.env['STORM_PROGRAMS'] = JSON.stringify(await breakTree(breakage, tree));
  const folder = join(own, 'storm');
  await runStorm({ seed, seconds, profile: 'breakages', without, folder, say: () => undefined, signal });
  const { tallies } = await verify(folder);
  const took = `${Math.round((performance.now() - begunMs) / 1_000)} s`;
  const named = [...tallies].map(([of, { count }]) => `${count} × ${of}`).join(', ') || 'nothing';
  const [example] = tallies.get(found)?.examples ?? [];
  say(
    example === undefined
      ? `${name}: NOT NAMED as ${found} within ${took}; found ${named}`
      : `${name}: named within ${took}: ${named}; ${example.what}`,
  );
  return example !== undefined;
}

/** Breaks a copy of the services, which finds packages within the repository. Resolves with the main file of each service. */
async function breakTree(breakage: Breakage, tree: string): Promise<Readonly<Record<string, string>>> {
  await rm(tree, { recursive: true, force: true });
  for (const room of ['shared', 'services']) {
    await cp(join(repositoryFolder, room), join(tree, room), { recursive: true, verbatimSymlinks: true });
  }
  const packages = join(tree, 'node_modules/@integration-sync');
  await mkdir(packages, { recursive: true });
  for (const path of globSync('{shared,services}/*', { cwd: tree })) {
    await symlink(join('../..', path), join(packages, basename(path)));
  }
  const path = join(tree, breakage.file);
  await writeFile(path, brokenText(breakage, await readFile(path, 'utf8')));
  return Object.fromEntries(
    serviceNames.map((service) => [service, join(tree, 'services', service, 'src/main.ts')]),
  );
}
