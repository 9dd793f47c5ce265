// What a push is answered with: an entry per pushed item, in the pushed order, and the counts. The status
// is 200, also where each item has failed or there is none.
import { limits, type PushError, type PushRecord, type RunError } from '@integration-sync/contracts';
import type { PushedRecord } from './fold.ts';
import type { Draft, Kind } from '../kind.ts';

export interface Rejected {
  position: number;
  /** Empty where the item has no usable one. */
  externalId: string;
  reasons: readonly Reason[];
}

/** Why an item is not accepted. */
export interface Reason {
  /** Empty where it is the item as a whole. */
  field: string;
  detail: string;
  /** The field is right in itself, and names a record that is not there. */
  notFound?: true;
  /** No field of this name is known. */
  unknown?: true;
}

export interface Settled {
  record: PushedRecord;
  created: boolean;
  /** How many of its items changed nothing. */
  idle: number;
}

export interface Counts {
  created: number;
  updated: number;
  /** The part of `updated` that changed nothing. */
  unchanged: number;
  failed: number;
}

export function countItems(settled: readonly Settled[], rejected: readonly Rejected[]): Counts {
  const counts = { created: 0, updated: 0, unchanged: 0, failed: rejected.length };
  for (const { record, created, idle } of settled) {
    const ofExisting = record.items.length - (created ? 1 : 0);
    counts.created += created ? 1 : 0;
    counts.updated += ofExisting;
    counts.unchanged += idle;
  }
  return counts;
}

export interface Answered {
  settled: readonly Settled[];
  rejected: readonly Rejected[];
  counts: Counts;
  /** Those that the push made. */
  drafts: readonly { entry: Draft }[];
}

/** A kind that has drafts names the key under which the answer holds them. */
export function answerOf({ drafting }: Kind, { settled, rejected, counts, drafts }: Answered) {
  const { success, errors, records } = answerItems(settled, rejected, 'UPDATED');
  const { created, updated } = counts;
  const ofDrafts = drafting === undefined ? {} : { [drafting.answerKey]: drafts.map(({ entry }) => entry) };
  return { success, created, updated, errors, records, ...ofDrafts };
}

interface AnsweredRecord<Status> extends Omit<PushRecord, 'status'> {
  status: Status;
}

/** `done` is the status of an item of a record that was there already. */
export function answerItems<Done extends string>(
  settled: readonly Settled[],
  rejected: readonly Rejected[],
  done: Done,
): { success: boolean; errors: PushError[]; records: AnsweredRecord<Done | 'CREATED' | 'ERROR'>[] } {
  const records: AnsweredRecord<Done | 'CREATED' | 'ERROR'>[] = [];
  for (const { record, created } of settled) {
    const { externalId, internalId } = record;
    for (const [nth, position] of record.positions.entries()) {
      records[position] = { externalId, internalId, status: created && nth === 0 ? 'CREATED' : done };
    }
  }
  for (const { position, externalId } of rejected) {
    records[position] = { externalId, internalId: '', status: 'ERROR' };
  }
  const errors = inOrder(rejected).map((one) => ({ externalId: one.externalId, error: errorOf(one) }));
  return { success: errors.length === 0, errors, records };
}

/** What the history keeps of why items failed. */
export const keptErrors = (rejected: readonly Rejected[]): RunError[] =>
  inOrder(rejected)
    .slice(0, limits.runErrorsMax)
    .map((one) => ({
      index: one.position,
      externalId: one.externalId,
      error: Array.from(errorOf(one)).slice(0, limits.runErrorCharactersMax).join(''),
    }));

const inOrder = (rejected: readonly Rejected[]): Rejected[] =>
  rejected.toSorted((one, other) => one.position - other.position);

const errorOf = ({ reasons }: Rejected): string => reasons.map(({ detail }) => detail).join('; ');
