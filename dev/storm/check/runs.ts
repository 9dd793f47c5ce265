// The history of runs: one for every answered push, completed and never changed again, with what its answer counted.
import type { RunLine } from '../lines.ts';
import type { History } from './history.ts';
import { isAcknowledged, isUncertain } from './push.ts';
import { entityPlurals } from './kinds.ts';
import type { Report } from './violations.ts';

type Run = RunLine['run'];

export function checkRuns(
  { pushes, bySync, runsRead }: History,
  lines: readonly RunLine[],
  { isPending, report }: { isPending: (syncId: string) => boolean; report: Report },
): void {
  const runs = new Map<string, Run>();
  for (const { run } of lines) {
    if (runs.has(run.syncId)) report({ class: 'run', what: `${run.syncId} is listed twice` });
    runs.set(run.syncId, run);
  }
  for (const push of pushes) {
    if (!isAcknowledged(push) || push.answer === undefined || push.syncId === undefined) continue;
    const { created, updated, errors } = push.answer;
    const expected = `${push.plural} completed ${created} ${updated} ${errors.length}`;
    const found = wordsOf(runs.get(push.syncId));
    if (found !== expected) {
      const what = `push ${push.id} (${push.syncId}): "${found}" instead of "${expected}"`;
      report({ class: 'run', what });
    }
  }
  checkOthers({ pushes, bySync }, lines, { isPending, report });
  checkRightAfter({ bySync, runsRead }, report);
}

const wordsOf = (run: Run | undefined): string =>
  run === undefined
    ? 'no run'
    : `${entityPlurals[run.entityType]} ${run.state} ${run.created} ${run.updated} ${run.failed}`;

/** Checks runs without an answered push: at most one for each cut-off push, and none that is still running. */
function checkOthers(
  { pushes, bySync }: Pick<History, 'pushes' | 'bySync'>,
  lines: readonly RunLine[],
  { isPending, report }: { isPending: (syncId: string) => boolean; report: Report },
): void {
  const others = lines.filter(({ run }) => !bySync.has(run.syncId));
  for (const { run } of others) {
    if (run.state !== 'completed' && !isPending(run.syncId)) {
      report({ class: 'run', what: `${run.syncId} of a push that was cut off is still ${run.state}` });
    }
  }
  const cutOff = Map.groupBy(
    pushes.filter(isUncertain),
    ({ integration, plural }) => `${integration}/${plural}`,
  );
  const found = Map.groupBy(
    others,
    ({ integration, run }) => `${integration}/${entityPlurals[run.entityType]}`,
  );
  for (const [listing, runs] of found) {
    const most = cutOff.get(listing)?.length ?? 0;
    if (runs.length <= most) continue;
    report({ class: 'run', what: `${listing}: ${runs.length} runs of ${most} pushes that were cut off` });
  }
}

/** A caller that asks right after its answer finds its run completed, as it will always be. */
function checkRightAfter({ bySync, runsRead }: Pick<History, 'bySync' | 'runsRead'>, report: Report): void {
  for (const { begunMs, runs } of runsRead) {
    for (const run of runs) {
      const push = bySync.get(run.syncId);
      if (push?.answer === undefined || push.endedMs >= begunMs) continue;
      const { created, updated, errors } = push.answer;
      const expected = `${push.plural} completed ${created} ${updated} ${errors.length}`;
      if (wordsOf(run) === expected) continue;
      report({
        class: 'run',
        what: `push ${push.id} (${run.syncId}) was shown as "${wordsOf(run)}" after it had been answered as "${expected}"`,
      });
    }
  }
}
