// How the kinds of records are called where.
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
