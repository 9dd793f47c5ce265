// Refuses items with a field that means nothing without another field (`companions` of a kind). Clearing both: field-changes.ts. Pure.
import { quote } from '@integration-sync/contracts';
import type { Item, Kind } from '../kind.ts';
import type { Reason } from './push-answer.ts';

export function refuseLonely({ companions = {} }: Pick<Kind, 'companions'>): (item: Item) => Reason[] {
  const pairs = Object.entries(companions);
  return (item) =>
    pairs.flatMap(([field, needed]) => {
      const value = item[field];
      // A wrong value of either field has a reason of its own.
      if (typeof value !== 'string' || value === '' || (item[needed] ?? '') !== '') return [];
      return { field, detail: `${field}: expected none without a ${needed}, got ${quote(value)}` };
    });
}
