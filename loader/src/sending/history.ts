// The last load of each kind, for prune: its mark (`X-Next-Since` before the load), and whether it has finished.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Kind } from '@integration-sync/client';
import { systemCodeOf } from '../exit.ts';
import { readJson, rejectedIdsFile, writeJson, type LoadState } from './state.ts';

export interface KindHistory {
  url: string;
  mark: string | undefined;
  startedAt: string;
  finishedAt: string | undefined;
  files: string[];
  /** The ids of rejected rows, which prune does not archive. */
  rejectedIds: string[];
}

export type History = Partial<Record<Kind, KindHistory>>;

const historyFile = 'history.json';

export const readHistory = async (folder: string): Promise<History> =>
  (await readJson(folder, historyFile)) ?? {};

export async function startKinds(folder: string, state: LoadState): Promise<void> {
  await write(folder, state, undefined, new Map());
}

export async function finishKinds(folder: string, state: LoadState): Promise<void> {
  await write(folder, state, new Date().toISOString(), await rejectedIds(folder));
}

async function write(
  folder: string,
  { url, files, marks, startedAt }: LoadState,
  finishedAt: string | undefined,
  rejected: ReadonlyMap<string, string[]>,
): Promise<void> {
  const history = await readHistory(folder);
  for (const kind of new Set(files.map((file) => file.kind))) {
    history[kind] = {
      url,
      mark: marks[kind],
      startedAt,
      finishedAt,
      files: files.filter((file) => file.kind === kind).map(({ path }) => path),
      rejectedIds: rejected.get(kind) ?? [],
    };
  }
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
