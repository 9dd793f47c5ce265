// The hidden field of a record: whether it is archived or erased. Every action changes it like any other field:
//
//   action     of a record that is synced       that is archived             that is erased
//   ────────   ──────────────────────────────   ──────────────────────────   ──────────────────────────
//   push       the pushed fields                the pushed fields, synced    the pushed fields, synced
//   archive    archived                         stays                        stays
//   erase      no fields, erased                no fields, erased            stays
//
// A record that stays as it was is `unchanged` in the answer, and no event announces it (records/classify.ts).
// Of an erased record its externalId is gone as well (record-writes.ts). Pure.
import type { Action } from '../action.ts';
import { fieldReader, type Changes, type FieldReader } from './changes.ts';
import type { Fields, Kind } from '../kind.ts';

/** Absent of a record that is synced. Its name is also what an event lists among changed fields. */
export const statusField = 'syncStatus';

export const isErased = (fields: Fields): boolean => fields[statusField] === 'ERASED';

/** What a listing shows. */
export const statusOf = (fields: Fields): string => String(fields[statusField] ?? 'SYNCED');

/** What each action makes of a record. All three name the same fields, the hidden one last. */
export function actionReaders(kind: Kind): Readonly<Record<Action, FieldReader>> {
  const pushed = fieldReader(kind);
  const names = [...pushed.names, statusField];
  return {
    push: {
      names,
      readNew: (item) => pushed.readNew(item),
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

/** The record was there when the request was read, and no record is ever removed. */
function refuseNew(): never {
  throw new Error('a record that was there is gone');
}
