// The summary of a load or a plan, as text for people and as JSON for programs.
import { count } from '../count.ts';
import { placeOf, shortened } from '../reading/source.ts';
import type { Reason } from './loading.ts';
import { noCounts, type Counts, type LoadState } from './state.ts';

export interface Summary {
  finished: boolean;
  seconds: number;
  total: Counts;
  files: (Counts & { file: string; sheet?: string; kind: string; rejects?: string })[];
  /** The first few rejected rows. */
  reasons: readonly Reason[];
}

export function summarize(state: LoadState, reasons: readonly Reason[], seconds: number): Summary {
  const total = noCounts();
  for (const { counts } of state.files) {
    for (const key of ['created', 'updated', 'unchanged', 'rejected', 'sentAgain'] as const)
      total[key] += counts[key];
  }
  return {
    finished: state.phase === 'finished',
    seconds,
    total,
    files: state.files.map(({ path, sheet, kind, counts, rejects }) => ({
      file: path,
      ...(sheet === undefined ? {} : { sheet }),
      kind,
      ...counts,
      ...(rejects === undefined ? {} : { rejects: rejects.path }),
    })),
    reasons,
  };
}

export function inWords({ files, reasons, seconds }: Summary, isPlan: boolean, hasReasons = true): string {
  const lines = files.map(({ file, sheet, rejects, ...counts }) => {
    const parts = [
      `${count(counts.created)} ${isPlan ? 'to create' : 'created'}`,
      `${count(counts.updated)} ${isPlan ? 'to update' : 'updated'}`,
      `${count(counts.unchanged)} unchanged`,
      ...(counts.sentAgain === 0 ? [] : [`${count(counts.sentAgain)} sent again`]),
      `${count(counts.rejected)} rejected`,
    ];
    return `${placeOf({ path: file, sheet })}: ${parts.join(', ')}${rejects === undefined ? '' : ` (${shortened(rejects)})`}`;
  });
  const shown = reasons.map(({ place, row, reason }) => `  ${place}, row ${row}: ${reason}`);
  const left = files.reduce((sum, { rejected }) => sum + rejected, 0) - shown.length;
  if (!hasReasons) shown.length = 0;
  else if (left > 0) shown.push(`  and ${count(left)} more`);
  return `${[...lines, ...shown, `${seconds.toFixed(1)} s`].join('\n')}\n`;
}
