// What operators' commands do with what batches keeps.
import type { Holding } from '@integration-sync/runtime/holding';
import type { Store } from '@integration-sync/runtime/store';
import { holdingsOf, stillPushing, type Pushing } from '@integration-sync/sync';
import { drafting } from './dds.ts';

/** In the order of their removal. */
export const batchesHoldings = (store: Store, integration: string): Holding[] =>
  holdingsOf(store, 'batches', ['batches', drafting.collection], integration);

export const pushingToBatches = (
  store: Store,
  integration: string,
  now: Date,
): Promise<Pushing | undefined> => stillPushing(store, 'batches', integration, now);
