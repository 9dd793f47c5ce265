// Due-diligence statements, one for each batch. A statement shows the numbers of its batch. Its other values are those of the
// batch and the product when the statement was made. A value that was unknown then is added later (shared/sync,
// pushing/drafting.ts).
import type { DdsEntry } from '@integration-sync/contracts';
import { derivedId, type Drafting, type Fields } from '@integration-sync/sync';
import type { ProductOrigin } from './products.ts';

export const drafting: Drafting<ProductOrigin> = {
  flag: 'autoCreateDDS',
  answerKey: 'ddsCreated',
  collection: 'dds',
  idPrefix: 'dds',
  follows: ['ddsReferenceNumber', 'ddsVerificationNumber'],
  isWanted: ({ ddsReferenceNumber }) => ddsReferenceNumber !== undefined,
  draft: ({ internalId, externalId, fields }, product, before) => ({
    ddsId: derivedId('dds', internalId),
    batchExternalId: externalId,
    batchInternalId: internalId,
    ...withStatus({
      hsCode: before?.hsCode ?? product?.hsCode ?? null,
      countryOfProduction: before?.countryOfProduction ?? product?.country ?? null,
      quantity: before?.quantity ?? amountOf(fields),
      unit: before?.unit ?? textOf(fields, 'unit'),
      referenceNumber: textOf(fields, 'ddsReferenceNumber'),
      verificationNumber: textOf(fields, 'ddsVerificationNumber'),
    }),
  }),
  shown: ({ ddsId, batchExternalId, batchInternalId, ...held }) => ({
    ddsId,
    batchExternalId,
    batchInternalId,
    ...withStatus(held),
  }),
};

type Held = Omit<DdsEntry, 'ddsId' | 'batchExternalId' | 'batchInternalId' | 'status' | 'missing'>;

/** Adds `status` and `missing` to a statement, with the keys in the order of the answer. */
function withStatus(held: Held): Held & Pick<DdsEntry, 'status' | 'missing'> {
  const { hsCode, countryOfProduction, quantity, unit, referenceNumber, verificationNumber } = held;
  const status = referenceNumber === null ? 'DRAFT' : 'REFERENCED';
  const given = { hsCode, countryOfProduction, quantity, unit, referenceNumber };
  const missing = Object.entries(given).flatMap(([key, value]) => (value === null ? [key] : []));
  return { status, ...given, verificationNumber, missing: status === 'DRAFT' ? missing : [] };
}

const amountOf = ({ quantity }: Fields): number | null => (typeof quantity === 'number' ? quantity : null);

function textOf(fields: Fields, name: string): string | null {
  const text = fields[name];
  return typeof text === 'string' ? text : null;
}
