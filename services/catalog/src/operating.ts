// What the commands in services/ops need of catalog: the documents of an integration, its pushes under way, and its overdue pushes.
import { documentHolding, type Holding } from '@integration-sync/runtime/holding';
import type { Store } from '@integration-sync/runtime/store';
import { openOperating } from '@integration-sync/sync';
import { expectationsCollection, readOverdue } from './expectations/expectation-store.ts';
import { suppliers } from './suppliers.ts';

const operating = openOperating('catalog', [suppliers.plural, 'products']);

export const catalogOperating = {
  ...operating,
  /** Expectations are removed before pushes, so that no expectation becomes overdue because its pushes were removed. */
  holdings: (store: Pick<Store, 'collection'>, integration: string): Holding[] => [
    documentHolding(store, expectationsCollection, { integration }),
    ...operating.holdings(store, integration),
  ],
  overdue: readOverdue,
};
