// What operators' commands do with what catalog keeps.
import type { Holding } from '@integration-sync/runtime/holding';
import type { Store } from '@integration-sync/runtime/store';
import { holdingsOf, stillPushing, type Pushing } from '@integration-sync/sync';
import { suppliers } from './suppliers.ts';

/** In the order of their removal. */
export const catalogHoldings = (store: Store, integration: string): Holding[] =>
  holdingsOf(store, 'catalog', [suppliers.plural, 'products'], integration);

export const pushingToCatalog = (
  store: Store,
  integration: string,
  now: Date,
): Promise<Pushing | undefined> => stillPushing(store, 'catalog', integration, now);
