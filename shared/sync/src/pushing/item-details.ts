// The details of each item in the answer to a push or a plan: the fields that the item changes, its problems, and its ignored
// fields. Erasing removes earlier errors of the record: `forgetErrors` in carry-out.ts.
import {
  isStrict,
  pointerPart,
  readOneOf,
  type FailureEntry,
  type ItemDetails,
} from '@integration-sync/contracts';
import { queryOf, type BusRequest } from '@integration-sync/runtime/bus';
import type { Counts, Reason, Rejected } from '../items/push-answer.ts';
import { foldItems } from '../items/fold.ts';
import { pointersToUnknown } from '../items/unknown-fields.ts';
import type { KindEngine } from '../engine.ts';
import type { Kind } from '../kind.ts';
import type { WrittenRecord } from './push-state.ts';

/** Whether a push asks for details of its items. Adds to `errors` if `details` has another value than true or false. */
export const wantsDetails = (request: Pick<BusRequest, 'headers'>, errors: FailureEntry[]): boolean =>
  readOneOf(queryOf(request), 'details', ['true', 'false'], errors) === 'true';

interface Facts {
  /** The items as the caller sent them. */
  items: readonly unknown[];
  applied: readonly WrittenRecord[];
  rejected: readonly Rejected[];
  counts: Pick<Counts, 'unchanged'>;
}

/** The details of the items, in the pushed order. */
export function itemDetailsOf(
  { kind, readers }: KindEngine,
  request: Pick<BusRequest, 'headers'>,
  { items, applied, rejected, counts: { unchanged } }: Facts,
): { unchanged: number; details: ItemDetails[] } {
  const ignoredOf = isStrict(request) ? () => [] : pointersToUnknown(kind);
  const details: ItemDetails[] = [];
  const tell = (index: number, told: Pick<ItemDetails, 'action' | 'changedFields' | 'problems'>): void => {
    details[index] = { index, ...told, ignored: ignoredOf(items[index], index) };
  };
  for (const { record, before } of applied) {
    // The second item of a record may change a field that the first has set.
    let fields = before;
    for (const [nth, item] of record.items.entries()) {
      const folded = foldItems(readers.push, fields, [item]);
      const changedFields = [...folded.changes.keys()];
      const ofExisting = changedFields.length === 0 ? 'unchanged' : 'updated';
      const action = fields === undefined ? 'created' : ofExisting;
      tell(record.positions[nth] ?? 0, { action, changedFields, problems: [] });
      ({ fields } = folded);
    }
  }
  for (const { position, reasons } of rejected) {
    const problems = reasons.map((reason) => ({
      pointer: pointerTo(kind, position, reason),
      code: codeOf(kind, reason),
      detail: reason.detail,
    }));
    tell(position, { action: 'failed', changedFields: [], problems });
  }
  return { unchanged, details };
}

const pointerTo = ({ plural }: Kind, position: number, { field }: Reason): string =>
  `/${plural}/${position}${field === '' ? '' : `/${pointerPart(field)}`}`;

function codeOf({ schema }: Kind, { field, detail, code }: Reason): ItemDetails['problems'][number]['code'] {
  if (code !== undefined) return code;
  if (field === '') return 'not_an_object';
  const { 'x-required': required }: { 'x-required'?: string } = schema.properties[field] ?? {};
  return detail === required ? 'required' : 'wrong_value';
}
