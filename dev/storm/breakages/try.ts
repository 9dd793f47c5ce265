// npm run storm -- breakages: a brief storm on each broken copy of the services. The storm must name the breakage.
import { join } from 'node:path';
import { repositoryFolder } from '../../stack/services.ts';
import { verify } from '../check/verify.ts';
import { runStorm } from '../run.ts';
import { breakTree } from './broken-tree.ts';
import { breakages, type Breakage } from './list.ts';

interface Trying {
  say: (line: string) => void;
  signal: AbortSignal;
}

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
  const folder = join(repositoryFolder, '.local/breakages', name);
  say(`${name}: ${says}`);
  const begunMs = performance.now();
  await using broken = await breakTree(breakage, join(folder, 'tree'));
  // The processes of the storm inherit this variable.
  process.env['STORM_PROGRAMS'] = JSON.stringify(broken.programs);
  const storm = join(folder, 'storm');
  await runStorm({ seed, seconds, profile: 'brief', without, folder: storm, say: () => undefined, signal });
  const { tallies } = await verify(storm);
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
