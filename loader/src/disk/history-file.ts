// The history of loads (core/sending/history.ts), in the folder of the state.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCodeOf } from '../core/exit.ts';
import { noteLoad, type History } from '../core/sending/history.ts';
import type { LoadState } from '../core/sending/state.ts';
import { readJson, rejectedIdsFile, stateFile, writeJson } from './state-file.ts';

const historyFile = 'history.json';

/** Reads the history, with the rejected rows of an interrupted load: a user may repair and load these before `--resume`. */
export async function readHistory(folder: string): Promise<History> {
  const history = (await readJson<History>(folder, historyFile)) ?? {};
  const state = await readJson<LoadState>(folder, stateFile);
  if (state !== undefined && state.phase !== 'finished') {
    const own = Object.values(history).find(({ startedAt }) => startedAt === state.startedAt);
    noteLoad(history, state, own?.finishedAt, await rejectedIds(folder));
  }
  return history;
}

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
  // What a killed load has written after its last line end is no whole line.
  for (const line of text.split('\n').slice(0, -1)) {
    const [kind, id]: [string, string] = JSON.parse(line);
    const known = ids.get(kind);
    if (known === undefined) ids.set(kind, [id]);
    else known.push(id);
  }
  return ids;
}
