// When a push is due, and which pushes of a journal count. Pure.
//
//   due time   `everyHours` after the last answer to a push, or after the expectation was set, whichever is later
//   in time    said of a push that began by the due time, however long the push took
//   overdue    said of an expectation from a due time without a push on, until the next push is answered
import type { SyncRun } from '@integration-sync/contracts';
import type { Expectation } from './expectation-store.ts';

const hourMs = 60 * 60 * 1_000;

/** How long after the due time a check decides that a push is missing: the clocks of replicas differ a little. */
export const graceMs = 10_000;
/** The longest time between two checks, so that a push is found long before the journal drops it. */
const checkEveryMs = 6 * hourMs;

type Timing = Pick<Expectation, 'everyHours' | 'setAt' | 'pushedAt'>;

export function dueAtOf({ everyHours, setAt, pushedAt }: Timing): Date {
  const from = Math.max(setAt.getTime(), pushedAt?.getTime() ?? 0);
  return new Date(from + everyHours * hourMs);
}

/** When the next check is due of an expectation that is not overdue. */
export const nextCheckAt = (timing: Timing, at: Date): Date =>
  new Date(Math.min(dueAtOf(timing).getTime() + graceMs, at.getTime() + checkEveryMs));

/** No replica puts a check off for longer, if the clocks of replicas differ by less than six hours. */
export const latestCheckAt = (at: Date): Date => new Date(at.getTime() + 2 * checkEveryMs);

type Run = Pick<SyncRun, 'syncId' | 'completedAt'>;

/** What a check learns from the pushes that it has read. */
export interface Seen extends Pick<Expectation, 'pushedAt' | 'ahead'> {
  /** Whether these pushes include a push that no earlier check has seen. */
  isNewer: boolean;
  /** Whether a push that no earlier check has seen has a time in the future. */
  isAhead: boolean;
  isRunning: boolean;
}

/**
 * Adds the pushes `runs` to the facts from earlier checks. A replica whose clock is ahead stores times in the future. A push with
 * such a time counts as answered when a check sees the push for the first time.
 */
export function see(known: Pick<Expectation, 'pushedAt' | 'ahead'>, runs: readonly Run[], at: Date): Seen {
  const atMs = at.getTime();
  const completed = runs.flatMap(({ syncId, completedAt }) =>
    completedAt === null ? [] : [{ syncId, ms: Date.parse(completedAt) }],
  );
  const aheadIds = completed.flatMap(({ syncId, ms }) =>
    ms > atMs && syncId > (known.ahead ?? '') ? [syncId] : [],
  );
  const isAhead = aheadIds.length > 0;
  const knownMs = known.pushedAt?.getTime() ?? -Infinity;
  const pastMs = completed.map(({ ms }) => ms).filter((ms) => ms <= atMs);
  const newestMs = Math.max(knownMs, ...pastMs, isAhead ? atMs : -Infinity);
  const ahead = aheadIds.toSorted().at(-1) ?? known.ahead;
  return {
    pushedAt: newestMs === -Infinity ? null : new Date(newestMs),
    ...(ahead === undefined ? {} : { ahead }),
    isNewer: newestMs > knownMs,
    isAhead,
    isRunning: runs.some(({ completedAt }) => completedAt === null),
  };
}
