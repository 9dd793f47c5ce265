// Reads the newest pushes of a kind from the journal of catalog or of batches.
import { randomUUID } from 'node:crypto';
import { limits, type SyncRun } from '@integration-sync/contracts';
import type { RunJournal } from '@integration-sync/sync';
import type { Expectation } from './expectation-store.ts';

/** Of the newest pushes, those whose sync ids sort before `before`, or all; newest first. */
export type ReadPushes = (of: Sought, before: string | null) => Promise<Pushes>;

export type Pushes = readonly Pick<SyncRun, 'syncId' | 'completedAt'>[];

type Sought = Pick<Expectation, 'integration' | 'entityType' | 'readTo'>;

/** Pushes that began so long before the last check are read again: they were under way, or their replica's clock was behind. */
const readAgainMs = 5 * 60 * 1_000;
/** More than the replicas of a service carry out concurrently, of which any may be the last to end. */
const readMax = 50;

/** Where the reading of a new expectation begins: the journal has nothing earlier. */
export const readFrom = (at: Date): Date =>
  new Date(at.getTime() - limits.runsKeptDays * 24 * 60 * 60 * 1_000);

export const readPushesOf =
  (journals: readonly RunJournal[]): ReadPushes =>
  async ({ integration, entityType, readTo }, before) => {
    const journal = journals.find(({ entityTypes }) => entityTypes.includes(entityType));
    if (journal === undefined) throw new Error(`no journal has pushes of the kind ${entityType}`);
    const since = new Date(readTo.getTime() - readAgainMs).toISOString();
    const { runs } = await journal.read(
      { integration, requestId: randomUUID(), traceparent: undefined },
      { before, skip: 0, limit: readMax, counted: false, filter: { entityType, since } },
    );
    return runs;
  };
