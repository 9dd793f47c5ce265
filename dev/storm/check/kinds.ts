// The names of the kinds of records in each place.
import type { EntityType } from '@integration-sync/contracts';
import type { Plural } from '../lines.ts';

export const entityPlurals: Readonly<Record<EntityType, Plural>> = {
  supplier: 'suppliers',
  product: 'products',
  batch: 'batches',
};

/** Of an event about a record. */
export function pluralOf(event: string): Plural | undefined {
  const [noun] = event.split('.');
  if (noun === 'supplier') return 'suppliers';
  if (noun === 'product') return 'products';
  return noun === 'batch' ? 'batches' : undefined;
}
