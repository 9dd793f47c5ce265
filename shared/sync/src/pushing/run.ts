// One push on its way: what is known of it from its start, what it has written, and what both say in the end.
import type { Action } from '../action.ts';
import type { Announcement } from '../announcing/announcement.ts';
import { countItems, keptErrors, type Rejected, type Settled } from '../items/answer.ts';
import type { NewDraft } from '../records/drafts.ts';
import type { Engine, KindEngine } from '../engine.ts';
import type { PushedRecord } from '../items/fold.ts';
import type { Fields } from '../kind.ts';
import { watermarkKey } from '../watermarks.ts';
import { internalIdsOf, packIds } from '../ids.ts';
import { dueAfter } from '../journal/journal-times.ts';
import type { Completion, Entry } from '../journal/journal-entry.ts';
import { packOutcomes, type Outcome } from '../records/outcome.ts';
import type { Permission } from './may-still-write.ts';

export interface Run {
  syncId: string;
  action: Action;
  of: KindEngine;
  integration: string;
  /** Where it belongs to a trace. */
  traceparent: string | undefined;
  /** Those that the push speaks of, in the order of their places. */
  records: readonly PushedRecord[];
  rejected: readonly Rejected[];
  drafting: boolean;
  startedAt: Date;
  /** Since it came to this replica. */
  waitedMs: () => number;
  /** By a clock that goes on while the process stands still. */
  elapsedMs: () => number;
  permission: Permission;
}

/** One record that was written, or found to be as it should be. */
export interface WrittenRecord extends Settled {
  changed: readonly string[];
  /** What was there of it; undefined where it is new. */
  before: Fields | undefined;
  /** What it holds now. */
  fields: Fields;
}

export interface Written {
  /** In the order of places. */
  settled: readonly WrittenRecord[];
  drafts: readonly NewDraft[];
}

/** The listings that a push may add to. */
export function watermarkKeys({ of, integration, drafting }: Pick<Run, 'of' | 'integration' | 'drafting'>) {
  const collection = drafting ? of.kind.drafting?.collection : undefined;
  return {
    records: watermarkKey(integration, of.kind.plural),
    drafts: collection === undefined ? undefined : watermarkKey(integration, collection),
  };
}

export const entryOf = (engine: Engine, run: Run): Entry => ({
  _id: run.syncId,
  integration: run.integration,
  entityType: run.of.kind.entityType,
  ...(run.action === 'push' ? {} : { action: run.action }),
  state: 'writing',
  owner: engine.owner,
  ...(run.traceparent === undefined ? {} : { traceparent: run.traceparent }),
  due: dueAfter(run.startedAt),
  created: 0,
  updated: 0,
  unchanged: 0,
  failed: run.rejected.length,
  startedAt: run.startedAt,
  completedAt: null,
  drafting: run.drafting,
  drafted: 0,
  ids: packIds(internalIdsOf(run.records)),
  ...(run.rejected.length === 0 ? {} : { errors: keptErrors(run.rejected) }),
});

/** What the journal keeps of a push that has written, and what is announced of it. */
export function concludeRun(
  run: Run,
  { settled, drafts }: Written,
  completedAt: Date,
): { completion: Completion; announcement: Announcement } {
  const counts = countItems(settled, run.rejected);
  const draftByPlace = new Map(drafts.map(({ place, entry }) => [place, entry]));
  const records = settled.map(({ record: { place, internalId, externalId }, created, changed }) => {
    const draft = draftByPlace.get(place);
    const outcome: Outcome = { created, changed, drafted: draft !== undefined };
    return { place, internalId, externalId, outcome, ...(draft === undefined ? {} : { draft }) };
  });
  const fields = run.of.readers[run.action].names;
  const outcomes = records.map(({ outcome }) => outcome);
  const { syncId, action, integration, traceparent, startedAt } = run;
  const { entityType, drafting } = run.of.kind;
  return {
    completion: {
      ...counts,
      drafted: drafts.length,
      completedAt,
      fields,
      outcomes: packOutcomes(outcomes, fields),
    },
    announcement: {
      syncId,
      action,
      integration,
      traceparent,
      entityType,
      counts,
      startedAt,
      completedAt,
      draftEvent: drafting?.event,
      records,
    },
  };
}
