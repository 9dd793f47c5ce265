// The names of the kinds of records in each place.
import type { EntityType } from '@integration-sync/contracts';
import type { Plural } from '../lines.ts';

export const entityPlurals: Readonly<Record<EntityType, Plural>> = {
  supplier: 'suppliers',
  product: 'products',
  batch: 'batches',
};

/** The kind of records that an event is about; undefined if it is not about a record. */
export function pluralOf(event: string): Plural | undefined {
  const [noun] = event.split('.');
  if (noun === 'supplier') return 'suppliers';
  if (noun === 'product') return 'products';
  return noun === 'batch' ? 'batches' : undefined;
}
