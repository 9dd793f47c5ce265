// A batch, as a caller pushes it, and the due-diligence statement that the service batches keeps for a batch.
import { Type, type Static } from 'typebox';
import {
  nullable,
  oneOf,
  optionalAmount,
  optionalDate,
  optionalNumberText,
  optionalText,
  requiredIdentifier,
  requiredText,
  upsertKey,
} from './fields.ts';
import { limits } from './limits.ts';

export const Batch = Type.Object(
  {
    externalId: upsertKey("Unique batch identifier in the caller's system; the upsert key"),
    productExternalId: requiredIdentifier(
      'externalId of the parent product, which must already be synced',
      'Product externalId is required',
    ),
    batchNumber: requiredText('Batch or lot number', 'Batch number is required'),
    quantity: optionalAmount('Quantity received'),
    unit: optionalText('Unit of measure', limits.unitCharactersMax),
    receivedDate: optionalDate('Date the batch was received'),
    expiryDate: optionalDate('Batch expiry date'),
    ddsReferenceNumber: optionalNumberText(
      'Reference number of the due-diligence statement; clearing it clears the verification number too',
      limits.ddsNumberCharactersMax,
    ),
    ddsVerificationNumber: optionalNumberText(
      'Verification number of the due-diligence statement; only in an item with the reference number',
      limits.ddsNumberCharactersMax,
    ),
  },
  { title: 'Batch' },
);

export const ddsStatuses = ['DRAFT', 'REFERENCED'] as const;

export const DdsEntry = Type.Object(
  {
    ddsId: Type.String(),
    batchExternalId: Type.String(),
    batchInternalId: Type.String(),
    status: oneOf(ddsStatuses, {
      description: 'REFERENCED while the batch has a reference number; other values may be added',
    }),
    hsCode: nullable('string', { description: "The product's HS code when the statement was made" }),
    countryOfProduction: nullable('string', {
      description: "The product's country when the statement was made",
    }),
    quantity: nullable('number', { description: "The batch's quantity when the statement was made" }),
    unit: nullable('string', { description: "The batch's unit of measure when the statement was made" }),
    referenceNumber: nullable('string', { description: "The batch's `ddsReferenceNumber`" }),
    verificationNumber: nullable('string', { description: "The batch's `ddsVerificationNumber`" }),
    missing: Type.Array(Type.String(), {
      description: 'Fields that a draft lacks and later pushes can give; empty once the status is REFERENCED',
    }),
  },
  { title: 'DdsEntry' },
);
export type DdsEntry = Static<typeof DdsEntry>;

/** The keys of a statement whose changes `dds.updated` announces. */
export const ddsAnnounced = ['status', 'referenceNumber', 'verificationNumber'] as const;
export type DdsAnnounced = (typeof ddsAnnounced)[number];
