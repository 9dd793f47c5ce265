// What was fetched or built once, in the user's cache folder: not in node_modules, which `npm ci` empties.
// A thing is made under a temporary name and renamed when it is whole, so that what has its name is whole.
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { waitForLock } from '../process/lock.ts';
import type { Environment } from './environment.ts';
import type { Progress } from './progress.ts';

export function cacheFolder(environment: Environment): string {
  const base = environment['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  return join(base, 'integration-sync-service');
}

export interface Recipe {
  /** Names what is made, with its version: another version is another thing. */
  name: string;
  make: (folder: string) => Promise<void>;
}

export interface Cache {
  folder: string;
  progress: Progress;
  signal: AbortSignal;
}

/** The folder of a thing that may be there already. */
export const cachedPath = (cache: Cache, name: string): string => join(cache.folder, name);

/** Resolves with the folder of the whole thing, made now if it was not there. */
export async function makeOnce(cache: Cache, { name, make }: Recipe): Promise<string> {
  const whole = cachedPath(cache, name);
  if (existsSync(whole)) return whole;
  using _lock = await cache.progress.during(`waiting for ${name}`, () =>
    waitForLock(`${whole}.lock`, {
      signal: cache.signal,
      onWait: (owner) =>
        cache.progress.say(`${name} is being made by process ${owner ?? '?'}; waiting for it`),
    }),
  );
  // Its maker may have finished it while we waited.
  if (existsSync(whole)) return whole;
  await removeDrafts(cache.folder, name);
  const draft = `${whole}.draft-${process.pid}`;
  await mkdir(draft, { recursive: true });
  try {
    await make(draft);
    await rename(draft, whole);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  }
  return whole;
}

/** A maker that was killed has left its draft. Nobody else works on one: we hold the lock. */
async function removeDrafts(folder: string, name: string): Promise<void> {
  for (const entry of await readdir(folder)) {
    if (entry.startsWith(`${name}.draft-`)) await rm(join(folder, entry), { recursive: true, force: true });
  }
}
