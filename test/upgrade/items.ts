// What the callers of a data set push, made from numbers.
import type { Item } from './data-set.ts';

const name = (letter: string, index: number): string => `${letter}-${String(index).padStart(3, '0')}`;

const some = (from: number, to: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: to - from }, (_, nth) => make(from + nth));

export const supplier = (index: number, more: object = {}): Item => ({
  externalId: name('S', index),
  name: `Supplier ${index}`,
  country: 'SE',
  code: 'first',
  ...more,
});

export const product = (index: number, more: object = {}): Item => ({
  externalId: name('P', index),
  name: `Product ${index}`,
  hsCode: '4407.91',
  country: 'SE',
  supplierExternalId: name('S', index),
  ...more,
});

export const batch = (index: number, more: object = {}): Item => ({
  externalId: name('B', index),
  productExternalId: name('P', index),
  batchNumber: `LOT-${index}`,
  quantity: 100 + index,
  unit: 'kg',
  ...more,
});

/** From the first number on, without the second. */
export const suppliers = (from: number, to: number, more: object = {}): Item[] =>
  some(from, to, (index) => supplier(index, more));
export const products = (from: number, to: number): Item[] => some(from, to, (index) => product(index));
export const batches = (from: number, to: number): Item[] => some(from, to, (index) => batch(index));
