// Rejects an item that sets a field without the field that must be beside it (`companions` of a kind), such as a verification number
// without its reference number.
import { quote } from '@integration-sync/contracts';
import type { Item, Kind } from '../kind.ts';
import type { Reason } from './push-answer.ts';

export function refuseLonely({ companions = {} }: Pick<Kind, 'companions'>): (item: Item) => Reason[] {
  const pairs = Object.entries(companions);
  return (item) =>
    pairs.flatMap(([field, needed]) => {
      const value = item[field];
      // If the value of either field is wrong, validate.ts gives the reason.
      if (typeof value !== 'string' || value === '' || (item[needed] ?? '') !== '') return [];
      return { field, detail: `${field}: expected none without a ${needed}, got ${quote(value)}` };
    });
}
