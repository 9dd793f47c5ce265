// The history of runs: one for every answered push, completed and never changed again, with what its answer counted.
import type { SyncRun } from '@integration-sync/contracts';
import { entityPlurals, type Check } from './facts.ts';
import { isAnswered, isUncertain, listingOf, type Answered } from './push.ts';

export const checkRuns: Check = ({ pushes, runs }, report) => {
  const found = new Map<string, SyncRun>();
  for (const { run } of runs) {
    if (found.has(run.syncId)) report('run', `${run.syncId} is listed twice`);
    found.set(run.syncId, run);
  }
  for (const push of pushes.filter(isAnswered)) {
    const [words, expected] = [wordsOf(found.get(push.syncId)), expectedOf(push)];
    if (words !== expected)
      report('run', `push ${push.id} (${push.syncId}): "${words}" instead of "${expected}"`);
  }
};

const expectedOf = ({ plural, answer: { created, updated, errors } }: Answered): string =>
  `${plural} completed ${created} ${updated} ${errors.length}`;

const wordsOf = (run: SyncRun | undefined): string =>
  run === undefined
    ? 'no run'
    : `${entityPlurals[run.entityType]} ${run.state} ${run.created} ${run.updated} ${run.failed}`;

/** Runs without an answered push: at most one for each cut-off push, and none that is still running. */
export const checkOtherRuns: Check = ({ pushes, bySync, runs, pendingRuns }, report) => {
  const others = runs.filter(({ run }) => !bySync.has(run.syncId));
  for (const { run } of others)
    if (run.state !== 'completed' && !pendingRuns.has(run.syncId))
      report('run', `${run.syncId} of a push that was cut off is still ${run.state}`);
  const cutOff = Map.groupBy(pushes.filter(isUncertain), listingOf);
  const byListing = Map.groupBy(others, ({ integration, run }) =>
    listingOf({ integration, plural: entityPlurals[run.entityType] }),
  );
  for (const [listing, { length }] of byListing) {
    const most = cutOff.get(listing)?.length ?? 0;
    if (length > most) report('run', `${listing}: ${length} runs of ${most} pushes that were cut off`);
  }
};

/** A caller that asks right after its answer finds its run completed, with all its final fields. */
export const checkRightAfter: Check = ({ bySync, runsRead }, report) => {
  for (const { begunMs, runs } of runsRead) {
    for (const run of runs) {
      const push = bySync.get(run.syncId);
      if (push === undefined || !isAnswered(push) || push.endedMs >= begunMs) continue;
      const [words, expected] = [wordsOf(run), expectedOf(push)];
      if (words === expected) continue;
      const shown = `was shown as "${words}" after it had been answered as "${expected}"`;
      report('run', `push ${push.id} (${run.syncId}) ${shown}`);
    }
  }
};
