// The last load of each kind, for prune: its mark (`X-Next-Since` before the load), and whether it has finished. A load of
// rejected rows has only a part of the rows. So it counts as part of the previous load, and keeps the mark of that load.
import { platform } from '#platform';
import type { Kind } from '@integration-sync/client';
import { Stop } from '../exit.ts';
import { unreadableId } from '../mapping/convert.ts';
import type { LoadState } from './state.ts';
import { isSameTarget, targetText, type Target } from './target.ts';

export interface KindHistory extends Target {
  mark: string | undefined;
  startedAt: string;
  finishedAt: string | undefined;
  files: string[];
  /** The ids of rejected rows, which prune does not archive. */
  rejectedIds: string[];
  /**
   * The files to which the load wrote its rejected rows. A user may load such a file without the columns `#row` and `#reason`.
   */
  rejects?: string[];
  /** Whether a load of repaired rows has begun, and has not finished. */
  isRepairing?: boolean;
}

export type History = Partial<Record<Kind, KindHistory>>;

/** Notes in the history that a load begins, or that it has finished. */
export function noteLoad(
  history: History,
  state: LoadState,
  finishedAt: string | undefined,
  rejected: ReadonlyMap<string, readonly string[]>,
): void {
  for (const kind of new Set(state.files.map((file) => file.kind))) {
    const files = state.files.filter((file) => file.kind === kind);
    const ids = rejected.get(kind) ?? [];
    const rejects = files.flatMap((file) => file.rejects?.path ?? []);
    if (files.every(({ isRejects }) => isRejects === true)) {
      const earlier = history[kind];
      // Rejected rows of another service or integration do not belong to the last load of this service and integration.
      if (earlier === undefined || !isSameTarget(earlier, state)) continue;
      earlier.isRepairing = finishedAt === undefined;
      const readable = earlier.rejectedIds.filter((id) => id !== unreadableId);
      earlier.rejectedIds = [...new Set([...readable, ...ids])];
      earlier.rejects = [...new Set([...(earlier.rejects ?? []), ...rejects])];
      continue;
    }
    // If this load is interrupted, the resumed load needs the earlier ids to restore their leading zeros.
    const isRepair = finishedAt === undefined && files.some(({ isRejects }) => isRejects === true);
    const earlier = isRepair ? history[kind] : undefined;
    const { url, integration, marks, startedAt } = state;
    history[kind] = {
      url,
      integration,
      mark: marks[kind],
      startedAt,
      finishedAt,
      files: files.map(({ path }) => path),
      rejectedIds: [...new Set([...(earlier?.rejectedIds ?? []), ...ids])],
      rejects: [...new Set([...(earlier?.rejects ?? []), ...rejects])],
    };
  }
}

/** Whether the file is one to which the last load of its kind wrote rejected rows. */
export const isRejectsOf = (history: History, { kind, path }: { kind: Kind; path: string }): boolean =>
  history[kind]?.rejects?.some((saved) => path === saved || isSavedAs(path, saved)) === true;

/**
 * Whether a file name is that of rejected rows which a browser or a spreadsheet has saved. If the name exists, a browser adds a
 * number; a spreadsheet changes the extension.
 */
export const isSavedAs = (path: string, saved: string): boolean =>
  /-rejects\.\w+$/.test(saved) && bareName(path) === bareName(saved);

const bareName = (path: string): string => path.replace(/(?: ?\(\d+\))?\.\w+$/, '');

/** Returns the history of a kind if prune can use it; otherwise throws. */
export function checked(
  history: KindHistory | undefined,
  kind: Kind,
  target: Target,
): KindHistory & { mark: string } {
  if (history === undefined) throw new Stop(`There was no load of ${kind}.`);
  const { mark, finishedAt } = history;
  if (finishedAt === undefined || history.isRepairing === true)
    throw new Stop(`The last load of ${kind} has not finished: ${platform.advice.unfinished}.`);
  if (!isSameTarget(history, target))
    throw new Stop(
      `The last load of ${kind} went to ${targetText(history)}, and not to ${targetText(target)}.`,
    );
  if (history.rejectedIds.includes(unreadableId))
    throw new Stop(`The last load of ${kind} has unreadable ids: load its files anew.`);
  if (mark === undefined) {
    throw new Stop(`The last load of ${kind} lacked the scope integration:${kind}:read: load again with it.`);
  }
  return { ...history, mark };
}
