// The headers of exports that are recognised without a map, in addition to the names of fields.
import type { Kind } from '@integration-sync/client';
import { plainName } from './nearest.ts';

const named = (names: Readonly<Record<string, readonly string[]>>): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(names).flatMap(([field, headers]) => headers.map((header) => [plainName(header), field])),
  );

/** Column headers that mean the same field of this kind of record in every file. */
export const otherNames: Readonly<Record<Kind, ReadonlyMap<string, string>>> = {
  suppliers: new Map(),
  products: new Map(),
  batches: named({
    ddsReferenceNumber: ['DDS Reference No.', 'DDS-Referenznummer', 'DDS-Referenznr.'],
    ddsVerificationNumber: [
      'DDS Verification No.',
      ...['Verifizierungs', 'Verifikations', 'Prüf'].flatMap((name) => [
        `DDS-${name}nummer`,
        `DDS-${name}nr.`,
      ]),
    ],
  }),
};

/** An export whose rows have no id of their own: several columns together are the key. */
export interface Layout {
  fields: ReadonlyMap<string, string>;
  /** The columns of the key, each with the headers that it may have. The texts of their non-empty cells form the externalId. */
  key: readonly (readonly string[])[];
}

/**
 * The layout of "Lot No. Information" of Business Central. The key includes the item, because two items may have lots with the
 * same number.
 */
const lots: Layout = {
  fields: named({
    productExternalId: ['Item No.', 'Artikelnr.'],
    batchNumber: ['Lot No.', 'Chargennr.', 'Losnr.'],
    quantity: ['Inventory', 'Lagerbestand'],
    expiryDate: ['Expiration Date', 'Ablaufdatum'],
  }),
  key: [
    ['Item No.', 'Artikelnr.'],
    ['Variant Code', 'Variantencode'],
    ['Lot No.', 'Chargennr.', 'Losnr.'],
  ].map((headers) => headers.map(plainName)),
};

/** By kind: the layout by which a file is read that has no column for a needed field. */
export const layouts: Readonly<Record<Kind, Layout | undefined>> = {
  suppliers: undefined,
  products: undefined,
  batches: lots,
};
