// The history of loads (core/sending/history.ts), in the folder of the state.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCodeOf } from '../core/exit.ts';
import { noteLoad, type History } from '../core/sending/history.ts';
import type { LoadState } from '../core/sending/state.ts';
import { readJson, rejectedIdsFile, stateFile, writeJson } from './state-file.ts';

const historyFile = 'history.json';

export const readHistory = async (folder: string): Promise<History> =>
  (await readJson(folder, historyFile)) ?? {};

export async function startKinds(folder: string, state: LoadState): Promise<void> {
  await write(folder, state, undefined, new Map());
}

async function finishKinds(folder: string, state: LoadState): Promise<void> {
  await write(folder, state, new Date().toISOString(), await rejectedIds(folder));
}

/** Saves the state of a load, and its history once the load has finished. */
export async function keepState(folder: string, state: LoadState): Promise<void> {
  // The history for prune is written before the state: a load that is killed between both writes can be resumed, but a finished
  // load cannot.
  if (state.phase === 'finished') await finishKinds(folder, state);
  await writeJson(folder, stateFile, state);
}

async function write(
  folder: string,
  state: LoadState,
  finishedAt: string | undefined,
  rejected: ReadonlyMap<string, string[]>,
): Promise<void> {
  const history = await readHistory(folder);
  noteLoad(history, state, finishedAt, rejected);
  await writeJson(folder, historyFile, history);
}

async function rejectedIds(folder: string): Promise<Map<string, string[]>> {
  const ids = new Map<string, string[]>();
  const text = await readFile(join(folder, rejectedIdsFile), 'utf8').catch((error: unknown) => {
    if (systemCodeOf(error) === 'ENOENT') return '';
    throw error;
  });
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const [kind, id]: [string, string] = JSON.parse(line);
    const known = ids.get(kind);
    if (known === undefined) ids.set(kind, [id]);
    else known.push(id);
  }
  return ids;
}
