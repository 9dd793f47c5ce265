// The state of one push: what is known at its start, what it has written, and the completion and announcement made from both.
import type { RunError } from '@integration-sync/contracts';
import type { Action } from '../action.ts';
import type { Announcement } from '../announcing/announcement.ts';
import { countItems, type Applied } from '../items/push-answer.ts';
import { keptErrors } from '../journal/kept-errors.ts';
import type { Engine, KindEngine } from '../engine.ts';
import type { Fields } from '../kind.ts';
import { watermarkKey } from '../watermarks.ts';
import { internalIdsOf, packIds } from '../ids.ts';
import { dueAfter } from '../journal/journal-times.ts';
import type { Completion, Entry } from '../journal/journal-entry.ts';
import type { WrittenDraft } from '../records/drafts.ts';
import { packOutcomes, type Outcome } from '../records/push-outcome.ts';
import type { Permission } from './may-still-write.ts';
import type { Prepared } from './prepare.ts';

export interface Task extends Prepared {
  action: Action;
  /** Whether the push asks for drafts of all its records. */
  asked: boolean;
}

export interface Run extends Task {
  syncId: string;
  of: KindEngine;
  integration: string;
  traceparent: string | undefined;
  /** The client whose key the caller has. */
  client: string | undefined;
  startedAt: Date;
  /** How long ago the request came to this replica. */
  waitedMs: () => number;
  /** How long ago the push started, by a clock that goes on while the process is frozen. */
  elapsedMs: () => number;
  permission: Permission;
}

/** A record that the push has written or has found unchanged. */
export interface WrittenRecord extends Applied {
  changed: readonly string[];
  /** The fields before the push; undefined for a new record. */
  before: Fields | undefined;
  /** The fields after the push. */
  fields: Fields;
}

export interface Written {
  /** The records of the push, in the order of the push. */
  applied: readonly WrittenRecord[];
  drafts: readonly WrittenDraft[];
}

/** The keys of the watermarks of the listings to which a push may add. */
export function watermarkKeys({ of, integration, drafting }: Pick<Run, 'of' | 'integration' | 'drafting'>) {
  const collection = drafting ? of.kind.drafting?.collection : undefined;
  return {
    records: watermarkKey(integration, of.kind.plural),
    drafts: collection === undefined ? undefined : watermarkKey(integration, collection),
  };
}

/** An erase keeps no error that names a supplier: if it found no record, its entry is stored after such errors are removed. */
const keptErrorsOf = ({ action, rejected }: Run): RunError[] =>
  keptErrors(action === 'erase' ? rejected.filter(({ externalId }) => externalId === '') : rejected);

export const entryOf = (engine: Engine, run: Run): Entry => ({
  _id: run.syncId,
  integration: run.integration,
  entityType: run.of.kind.entityType,
  ...(run.client === undefined ? {} : { client: run.client }),
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
  ...(run.rejected.length === 0 ? {} : { errors: keptErrorsOf(run) }),
});

/** The completion of the journal entry of a push that has written, and its announcement. */
export function concludeRun(
  run: Run,
  { applied, drafts }: Written,
  completedAt: Date,
): { completion: Completion; announcement: Announcement } {
  const counts = countItems(applied, run.rejected);
  const draftByOrdinal = new Map(drafts.map((draft) => [draft.ordinal, draft]));
  const records = applied.map(({ record: { ordinal, internalId, externalId }, created, changed }) => {
    const draft = draftByOrdinal.get(ordinal);
    const outcome: Outcome = { created, changed, drafted: draft?.made === true };
    return { ordinal, internalId, externalId, outcome, ...(draft === undefined ? {} : { draft }) };
  });
  const fields = run.of.readers[run.action].names;
  const outcomes = packOutcomes(
    records.map(({ outcome }) => outcome),
    fields,
  );
  const { syncId, action, integration, traceparent, startedAt } = run;
  const { entityType } = run.of.kind;
  return {
    completion: {
      ...counts,
      drafted: drafts.filter(({ made }) => made).length,
      completedAt,
      fields,
      outcomes,
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
      records,
    },
  };
}
