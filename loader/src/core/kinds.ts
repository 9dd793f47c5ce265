// The fields of each kind of record, with the type to which a cell of a file is converted.
import type { Kind } from '@integration-sync/client';

export type FieldType = 'id' | 'text' | 'amount' | 'date' | 'flag' | 'list';

export interface Field {
  type: FieldType;
}

const id: Field = { type: 'id' };
const text: Field = { type: 'text' };
const date: Field = { type: 'date' };

export const fieldsOf: Readonly<Record<Kind, Readonly<Record<string, Field>>>> = {
  suppliers: {
    externalId: id,
    name: text,
    code: text,
    country: text,
    address: text,
    contactPerson: text,
    email: text,
    phone: text,
    certifications: { type: 'list' },
    isEuOrigin: { type: 'flag' },
  },
  products: {
    externalId: id,
    name: text,
    category: text,
    country: text,
    hsCode: text,
    unit: text,
    code: text,
    supplierExternalId: id,
  },
  batches: {
    externalId: id,
    productExternalId: id,
    batchNumber: text,
    quantity: { type: 'amount' },
    unit: text,
    receivedDate: date,
    expiryDate: date,
    ddsReferenceNumber: id,
    ddsVerificationNumber: id,
  },
};

/** Describes each field for a person who knows the columns of a file, but not the contract. */
export const wordsOf: Readonly<Record<Kind, Readonly<Record<string, string>>>> = {
  suppliers: {
    externalId: 'its number in your system',
    name: 'the name of the company',
    code: 'a second number or short name',
    country: 'its country, such as DE or Germany',
    address: 'street and town, in one column',
    contactPerson: 'the person to ask',
    email: 'e-mail address',
    phone: 'phone number',
    certifications: 'certificates, such as FSC, PEFC',
    isEuOrigin: 'whether it is in the EU, yes or no',
  },
  products: {
    externalId: 'its number in your system',
    name: 'the name of the product',
    category: 'a group of products',
    country: 'country of origin, such as DE',
    hsCode: 'customs tariff number',
    unit: 'unit of measure, such as KG',
    code: 'a second number, such as a SKU',
    supplierExternalId: 'the number of its supplier',
  },
  batches: {
    externalId: 'its own number in your system',
    productExternalId: 'the number of its product',
    batchNumber: 'batch or lot, as printed on the goods',
    quantity: 'how much there is of it',
    unit: 'unit of the quantity, such as KG',
    receivedDate: 'the day when it came in',
    expiryDate: 'the day until which it keeps',
    ddsReferenceNumber: 'reference number of its due-diligence statement',
    ddsVerificationNumber: 'verification number of that statement',
  },
};

/** In the order in which they must be loaded: products refer to suppliers, and batches to products. */
export const kinds: readonly Kind[] = ['suppliers', 'products', 'batches'];

export const isKind = (name: string): name is Kind => kinds.some((kind) => kind === name);

const namedRecord = ['externalId', 'name'];

const needed: Readonly<Record<Kind, readonly string[]>> = {
  suppliers: namedRecord,
  products: namedRecord,
  batches: ['externalId', 'productExternalId', 'batchNumber'],
};

export const neededOf = (kind: Kind): readonly string[] => needed[kind];

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
