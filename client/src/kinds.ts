// The three kinds of records, in the order in which they refer to each other.
import type { Batch, ListedBatch, ListedProduct, ListedSupplier, Product, Supplier } from './types.ts';

interface Shapes {
  suppliers: { item: Supplier; listed: ListedSupplier };
  products: { item: Product; listed: ListedProduct };
  batches: { item: Batch; listed: ListedBatch };
}

export type Kind = keyof Shapes;
export type ItemOf<K extends Kind> = Shapes[K]['item'];
export type ListedOf<K extends Kind> = Shapes[K]['listed'];
