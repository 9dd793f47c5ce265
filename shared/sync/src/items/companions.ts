// Refuses items with a field that means nothing without another field (`companions` of a kind). Clearing both: field-changes.ts. Pure.
import { quote } from '@integration-sync/contracts';
import type { Item, Kind } from '../kind.ts';
import type { Reason } from './push-answer.ts';

const isGiven = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** The reason against an item that has such a field without the other field. */
export function refuseLonely({ companions = {} }: Pick<Kind, 'companions'>): (item: Item) => Reason[] {
  const pairs = Object.entries(companions);
  return (item) =>
    pairs.flatMap(([field, needed]) => {
      const value = item[field];
      // A wrong value of either field has a reason of its own.
      const isLonely = isGiven(value) && (item[needed] ?? '') === '';
      return isLonely
        ? { field, detail: `${field}: expected none without a ${needed}, got ${quote(value)}` }
        : [];
    });
}
