// A batch, as a caller pushes it, and the due-diligence statement that the service batches drafts for a batch.
import { Type, type Static } from 'typebox';
import {
  nullable,
  optionalAmount,
  optionalDate,
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
  },
  { title: 'Batch' },
);
export type Batch = Static<typeof Batch>;

export const DdsEntry = Type.Object(
  {
    ddsId: Type.String(),
    batchExternalId: Type.String(),
    batchInternalId: Type.String(),
    status: Type.Literal('DRAFT'),
    hsCode: nullable('string', { description: "The product's HS code when the draft was made" }),
    countryOfProduction: nullable('string', { description: "The product's country when the draft was made" }),
    quantity: nullable('number', { description: "The batch's quantity" }),
    unit: nullable('string', { description: "The batch's unit of measure" }),
    referenceNumber: Type.Null(),
    verificationNumber: Type.Null(),
    missing: Type.Array(Type.String(), {
      description: 'What must still be supplied before the statement can be submitted; never empty',
    }),
  },
  { title: 'DdsEntry' },
);
export type DdsEntry = Static<typeof DdsEntry>;
