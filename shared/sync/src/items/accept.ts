// Which items of a push are accepted: those that are right in themselves and point at something that is there.
import { own } from './body.ts';
import type { AcceptedItem } from './fold.ts';
import type { Reason, Rejected } from './answer.ts';
import type { Item, Reference } from '../kind.ts';
import type { Verdict } from './validate.ts';

/** Every record that some item points at, once. */
export const referencedIds = (field: string, verdicts: readonly Verdict[]): string[] => [
  ...new Set(verdicts.flatMap((verdict) => referencedId(field, verdict) ?? [])),
];

/** Also of an item that is wrong elsewhere, so that its errors come all at once. */
function referencedId(field: string, { item, reasons }: Verdict): string | undefined {
  const value = own(item, field);
  return typeof value === 'string' && value !== '' && !reasons.has(field) ? value : undefined;
}

/** `more` says what else is wrong with an item. */
export function acceptItems<Found>(
  verdicts: readonly Verdict[],
  reference?: { rule: Reference<Found>; found: ReadonlyMap<string, Found> },
  more?: (item: Item) => readonly Reason[],
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
        reasons.push({ field, detail: notFound(id), notFound: true });
      }
    }
    if (more !== undefined) reasons.push(...more(item));
    if (reasons.length === 0) accepted.push({ position, externalId, item });
    else rejected.push({ position, externalId, reasons });
  }
  return { accepted, rejected };
}
