// The fields of each kind of record, with the type to which a cell of a file is converted.
import type { Kind } from '@integration-sync/client';

export type FieldType = 'id' | 'text' | 'amount' | 'date' | 'flag' | 'list';

export interface Field {
  type: FieldType;
  needed?: true;
}

export const fieldsOf: Readonly<Record<Kind, Readonly<Record<string, Field>>>> = {
  suppliers: {
    externalId: { type: 'id', needed: true },
    name: { type: 'text', needed: true },
    code: { type: 'text' },
    country: { type: 'text' },
    address: { type: 'text' },
    contactPerson: { type: 'text' },
    email: { type: 'text' },
    phone: { type: 'text' },
    certifications: { type: 'list' },
    isEuOrigin: { type: 'flag' },
  },
  products: {
    externalId: { type: 'id', needed: true },
    name: { type: 'text', needed: true },
    category: { type: 'text' },
    country: { type: 'text' },
    hsCode: { type: 'text' },
    unit: { type: 'text' },
    code: { type: 'text' },
    supplierExternalId: { type: 'id' },
  },
  batches: {
    externalId: { type: 'id', needed: true },
    productExternalId: { type: 'id', needed: true },
    batchNumber: { type: 'text', needed: true },
    quantity: { type: 'amount' },
    unit: { type: 'text' },
    receivedDate: { type: 'date' },
    expiryDate: { type: 'date' },
    ddsReferenceNumber: { type: 'id' },
    ddsVerificationNumber: { type: 'id' },
  },
};

/** In the order in which they must be loaded: products refer to suppliers, and batches to products. */
export const kinds: readonly Kind[] = ['suppliers', 'products', 'batches'];

export const isKind = (text: string): text is Kind => kinds.some((kind) => kind === text);

export const neededOf = (kind: Kind): string[] =>
  Object.entries(fieldsOf[kind]).flatMap(([name, { needed }]) => (needed === true ? [name] : []));

/** The field by which a record refers to a record of another kind. */
export const referenceOf: Readonly<Record<Kind, { field: string; to: Kind } | undefined>> = {
  suppliers: undefined,
  products: { field: 'supplierExternalId', to: 'suppliers' },
  batches: { field: 'productExternalId', to: 'products' },
};

/** The columns that the loader adds to rejected rows. It ignores them when a file of rejected rows is loaded. */
export const rowColumn = '#row';
export const reasonColumn = '#reason';

export const isRejectsHeader = (columns: readonly string[]): boolean =>
  columns.includes(rowColumn) && columns.includes(reasonColumn);
