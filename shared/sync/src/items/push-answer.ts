// The answers to a push, an archiving and an erasing: an entry for each item, in the order of the body, and the counts. The status
// is 200, even if every item failed or the body has no items.
import type { PushError, PushRecord } from '@integration-sync/contracts';
import { doneBy, type StatusChange } from '../action.ts';
import type { PushedRecord } from './fold.ts';
import type { Draft, Kind } from '../kind.ts';

export interface Rejected {
  position: number;
  /** The externalId of the item; empty if the item has no valid one. */
  externalId: string;
  reasons: readonly Reason[];
}

export interface Reason {
  /** The wrong field; empty if the reason concerns the whole item. */
  field: string;
  detail: string;
  /** The code in the details of the item; absent if the value is wrong or missing. */
  code?: 'reference_not_found' | 'unknown_field';
}

export interface Applied {
  record: PushedRecord;
  created: boolean;
  /** How many items of the record changed nothing. */
  idle: number;
}

export interface Counts {
  created: number;
  updated: number;
  /** How many of the `updated` items changed nothing. */
  unchanged: number;
  failed: number;
}

export function countItems(applied: readonly Applied[], rejected: readonly Rejected[]): Counts {
  const counts = { created: 0, updated: 0, unchanged: 0, failed: rejected.length };
  for (const { record, created, idle } of applied) {
    counts.created += created ? 1 : 0;
    counts.updated += record.items.length - (created ? 1 : 0);
    counts.unchanged += idle;
  }
  return counts;
}

export interface Answered {
  applied: readonly Applied[];
  rejected: readonly Rejected[];
  counts: Counts;
  /** Whether the push asks for drafts; otherwise the answer lists none. */
  asked: boolean;
  /** The drafts that the push made. */
  drafts: readonly { entry: Draft }[];
}

export function answerOf({ drafting }: Kind, { applied, rejected, counts, asked, drafts }: Answered) {
  const { success, errors, records } = answerItems(applied, rejected, 'UPDATED');
  const { created, updated } = counts;
  const listed = asked ? drafts.map(({ entry }) => entry) : [];
  const ofDrafts = drafting === undefined ? {} : { [drafting.answerKey]: listed };
  return { success, created, updated, errors, records, ...ofDrafts };
}

export function statusAnswerOf(
  action: StatusChange,
  { applied, rejected }: Pick<Answered, 'applied' | 'rejected'>,
) {
  const counted = doneBy[action];
  const { success, errors, records } = answerItems(applied, rejected, counted.toUpperCase());
  return { success, [counted]: applied.length, errors, records };
}

interface AnsweredRecord<Status> extends Omit<PushRecord, 'status'> {
  status: Status;
}

/** `done` is the status of an accepted item if its record existed before: UPDATED, ARCHIVED or ERASED. */
export function answerItems<Done extends string>(
  applied: readonly Applied[],
  rejected: readonly Rejected[],
  done: Done,
): { success: boolean; errors: PushError[]; records: AnsweredRecord<Done | 'CREATED' | 'ERROR'>[] } {
  const records: AnsweredRecord<Done | 'CREATED' | 'ERROR'>[] = [];
  for (const { record, created } of applied) {
    const { externalId, internalId } = record;
    for (const [nth, position] of record.positions.entries()) {
      records[position] = { externalId, internalId, status: created && nth === 0 ? 'CREATED' : done };
    }
  }
  for (const { position, externalId } of rejected) {
    records[position] = { externalId, internalId: '', status: 'ERROR' };
  }
  const errors = inPushedOrder(rejected).map((one) => ({ externalId: one.externalId, error: errorOf(one) }));
  return { success: errors.length === 0, errors, records };
}

export const inPushedOrder = (rejected: readonly Rejected[]): Rejected[] =>
  rejected.toSorted((one, other) => one.position - other.position);

export const errorOf = ({ reasons }: Rejected): string => reasons.map(({ detail }) => detail).join('; ');
