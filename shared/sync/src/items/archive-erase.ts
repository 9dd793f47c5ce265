// The field `syncStatus` of a record, which says whether the record is archived or erased. An action changes it like other fields:
//
//   action     a synced record becomes          an archived record becomes   an erased record becomes
//   ────────   ──────────────────────────────   ──────────────────────────   ──────────────────────────
//   push       the pushed fields                the pushed fields, synced    the pushed fields, synced
//   archive    archived                         stays                        stays
//   erase      no fields, erased                no fields, erased            stays
//
// A record that stays is `unchanged` in the answer, and has no event (records/sort-records.ts). Erasing also removes the externalId
// (record-writes.ts), and errors of failed items about the record (pushing/carry-out.ts). Pure.
import type { Action } from '../action.ts';
import { fieldReader, type Changes, type FieldReader } from './field-changes.ts';
import type { Fields, Kind } from '../kind.ts';

/** The field with the status of a record; absent in a synced record. Events list this name among the changed fields. */
export const statusField = 'syncStatus';

export const isErased = (fields: Fields): boolean => fields[statusField] === 'ERASED';

/** The status as listings show it. */
export const statusOf = (fields: Fields): string => String(fields[statusField] ?? 'SYNCED');

/** By action, the reader of the fields that it changes. All readers have the same fields, with `syncStatus` last. */
export function actionReaders(kind: Kind): Readonly<Record<Action, FieldReader>> {
  const pushed = fieldReader(kind);
  const names = [...pushed.names, statusField];
  return {
    push: {
      ...pushed,
      names,
      readChanges(before, item) {
        const changes = pushed.readChanges(before, item);
        return before[statusField] === undefined ? changes : new Map([...changes, [statusField, undefined]]);
      },
    },
    archive: {
      names,
      readNew: refuseNew,
      readChanges: (before) =>
        before[statusField] === undefined ? new Map([[statusField, 'ARCHIVED']]) : unchanged,
    },
    erase: {
      names,
      readNew: refuseNew,
      readChanges: (before) => (isErased(before) ? unchanged : erasing(before)),
    },
  };
}

const unchanged: Changes = new Map();

const erasing = (before: Fields): Changes =>
  new Map([...Object.keys(before).map((name) => [name, undefined] as const), [statusField, 'ERASED']]);

/** Throws if the record is gone: the request has found the record before, and only `ops purge` removes records. */
function refuseNew(): never {
  throw new Error('a record was removed while this request changed its status');
}
