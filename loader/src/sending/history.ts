// The last load of each kind, for prune: its mark (`X-Next-Since` before the load), and whether it has finished. A load of
// rejected rows has a part of the rows only: it belongs to the load before, whose mark stays.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Kind } from '@integration-sync/client';
import { systemCodeOf } from '../core/exit.ts';
import type { LoadState } from '../core/sending/state.ts';
import { readJson, rejectedIdsFile, stateFile, writeJson } from './state.ts';

export interface KindHistory {
  url: string;
  /** The integration that the rows went to; undefined if the service did not say it, or by release 1.1.0. */
  integration?: string | undefined;
  mark: string | undefined;
  startedAt: string;
  finishedAt: string | undefined;
  files: string[];
  /** The ids of rejected rows, which prune does not archive. */
  rejectedIds: string[];
  /** Where the load wrote its rejected rows: they may come back without the columns `#row` and `#reason`. */
  rejects?: string[];
  /** Whether a load of repaired rows has begun, and has not finished. */
  isRepairing?: boolean;
}

export type History = Partial<Record<Kind, KindHistory>>;

const historyFile = 'history.json';

export const readHistory = async (folder: string): Promise<History> =>
  (await readJson(folder, historyFile)) ?? {};

export async function startKinds(folder: string, state: LoadState): Promise<void> {
  await write(folder, state, undefined, new Map());
}

async function finishKinds(folder: string, state: LoadState): Promise<void> {
  await write(folder, state, new Date().toISOString(), await rejectedIds(folder));
}

/** Writes the state of a load down. */
export async function keepState(folder: string, state: LoadState): Promise<void> {
  // The history for prune is written first: a load that is killed in between can be resumed, but a finished one cannot.
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
  for (const kind of new Set(state.files.map((file) => file.kind))) {
    const files = state.files.filter((file) => file.kind === kind);
    const ids = rejected.get(kind) ?? [];
    const rejects = files.flatMap((file) => file.rejects?.path ?? []);
    if (files.every(({ isRejects }) => isRejects === true)) {
      const earlier = history[kind];
      // Rows that were rejected by another service or integration say nothing of the last load here.
      if (earlier === undefined || !isSameTarget(earlier, state)) continue;
      earlier.isRepairing = finishedAt === undefined;
      earlier.rejectedIds = [...new Set([...earlier.rejectedIds, ...ids])];
      earlier.rejects = [...new Set([...(earlier.rejects ?? []), ...rejects])];
      continue;
    }
    const { url, integration, marks, startedAt } = state;
    history[kind] = {
      url,
      integration,
      mark: marks[kind],
      startedAt,
      finishedAt,
      files: files.map(({ path }) => path),
      rejectedIds: ids,
      rejects,
    };
  }
  await writeJson(folder, historyFile, history);
}

export type Target = Pick<KindHistory, 'url' | 'integration'>;

/** Release 1.1.0 wrote no integration. */
export const isSameTarget = (one: Target, other: Target): boolean =>
  one.url === other.url && (one.integration === undefined || one.integration === other.integration);

/** Whether the file is one to which the last load of its kind wrote rejected rows. */
export const isRejectsOf = (history: History, { kind, path }: { kind: Kind; path: string }): boolean =>
  history[kind]?.rejects?.includes(path) === true;

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
