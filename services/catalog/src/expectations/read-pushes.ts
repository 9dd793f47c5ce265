// Reads the newest pushes of a kind from the journal of catalog or of batches.
import { randomUUID } from 'node:crypto';
import { limits } from '@integration-sync/contracts';
import type { RunJournal } from '@integration-sync/sync';
import type { Expectation } from './expectation-store.ts';

export type ReadPushes = ReturnType<typeof readPushesOf>;

/** Pushes from this long before the last check are read again: they were under way, or the clock of their replica was behind. */
const readAgainMs = 5 * 60 * 1_000;
/** How many pushes are read: more than replicas carry out concurrently, because concurrent pushes end in any order. */
const readMax = 50;

/** The time from which pushes are read for a new expectation. The journal has no earlier pushes. */
export const readFrom = (at: Date): Date =>
  new Date(at.getTime() - limits.runsKeptDays * 24 * 60 * 60 * 1_000);

/** Reads the newest pushes of a kind, newest first; with `before`, only pushes whose sync ids sort before it. */
export const readPushesOf =
  (journals: readonly RunJournal[]) =>
  async (
    { integration, entityType, readTo }: Pick<Expectation, 'integration' | 'entityType' | 'readTo'>,
    before: string | null,
  ) => {
    const journal = journals.find(({ entityTypes }) => entityTypes.includes(entityType));
    if (journal === undefined)
      throw new Error(`no service has a journal of pushes of the kind ${entityType}`);
    const since = new Date(readTo.getTime() - readAgainMs).toISOString();
    const { runs } = await journal.read(
      { integration, requestId: randomUUID(), traceparent: undefined },
      { before, skip: 0, limit: readMax, counted: false, filter: { entityType, since } },
    );
    return runs;
  };
