// The file with the state of a load. It is replaced as a whole, so that a killed process leaves either the old or the new state.
import { mkdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { Stop, systemCodeOf } from '../core/exit.ts';
import { openOwn } from './own-files.ts';

export const stateFile = 'load.json';
export const deferredFile = 'deferred.ndjson';
/** The ids of rejected rows, which prune does not archive. */
export const rejectedIdsFile = 'rejected-ids.ndjson';

export async function writeJson(folder: string, name: string, value: unknown): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const temporary = join(folder, `${name}.new`);
  const file = await openOwn(temporary, 'empty');
  try {
    await file.writeFile(JSON.stringify(value, undefined, 2));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, join(folder, name));
}

export async function readJson<Value>(folder: string, name: string): Promise<Value | undefined> {
  const path = join(folder, name);
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return undefined;
    if (error instanceof SyntaxError)
      throw new Stop(`${path} is broken (${error.message}): delete it, and begin anew.`);
    throw error;
  }
}
