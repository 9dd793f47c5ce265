// Splits the items of a push into accepted and rejected items: an accepted item is valid, and the record that it refers to exists.
// Further reasons to reject an item: companions.ts, unknown-fields.ts.
import { own } from './push-body.ts';
import type { AcceptedItem } from './fold.ts';
import type { Reason, Rejected } from './push-answer.ts';
import type { Item, Reference } from '../kind.ts';
import type { Verdict } from './validate.ts';

/** The externalIds that the items refer to in `field`, each once. */
export const referencedIds = (field: string, verdicts: readonly Verdict[]): string[] => [
  ...new Set(verdicts.flatMap((verdict) => referencedId(field, verdict) ?? [])),
];

/** The id of the record that the field refers to, even if other fields have errors: an item's errors are reported together. */
function referencedId(field: string, { item, reasons }: Verdict): string | undefined {
  const value = own(item, field);
  return typeof value === 'string' && value !== '' && !reasons.has(field) ? value : undefined;
}

/** Each function in `more` returns further reasons to reject an item. */
export function acceptItems<Found>(
  verdicts: readonly Verdict[],
  reference?: { rule: Reference<Found>; found: ReadonlyMap<string, Found> },
  more: readonly ((item: Item) => readonly Reason[])[] = [],
): { accepted: AcceptedItem[]; rejected: Rejected[] } {
  const accepted: AcceptedItem[] = [];
  const rejected: Rejected[] = [];
  for (const [position, verdict] of verdicts.entries()) {
    const { item, externalId } = verdict;
    const reasons = Array.from(verdict.reasons, ([field, detail]): Reason => ({ field, detail }));
    if (reference !== undefined) {
      const id = referencedId(reference.rule.field, verdict);
      if (id !== undefined && !reference.found.has(id)) {
        const { field, notFound } = reference.rule;
        reasons.push({ field, detail: notFound(id), code: 'reference_not_found' });
      }
    }
    for (const reasonsAgainst of more) reasons.push(...reasonsAgainst(item));
    if (reasons.length === 0) accepted.push({ position, externalId, item });
    else rejected.push({ position, externalId, reasons });
  }
  return { accepted, rejected };
}
