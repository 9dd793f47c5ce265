// A batch, as a caller pushes it, and the due-diligence statement that batches drafts for one.
import { Type, type Static } from 'typebox';
import { optionalAmount, optionalDate, optionalText, requiredIdentifier, requiredText } from './fields.ts';

export const Batch = Type.Object(
  {
    externalId: requiredIdentifier(
      "Unique batch identifier in the caller's system; the upsert key",
      'externalId is required',
    ),
    productExternalId: requiredIdentifier(
      'externalId of the parent product, which must already be synced',
      'Product externalId is required',
    ),
    batchNumber: requiredText('Batch or lot number', 'Batch number is required'),
    quantity: optionalAmount('Quantity received'),
    unit: optionalText('Unit of measure', 32),
    receivedDate: optionalDate('Date the batch was received'),
    expiryDate: optionalDate('Batch expiry date'),
  },
  { title: 'Batch' },
);
export type Batch = Static<typeof Batch>;

const nullable = <T extends 'string' | 'number'>(type: T, description: string) =>
  Type.Unsafe<(T extends 'string' ? string : number) | null>({ type: [type, 'null'], description });

export const DdsEntry = Type.Object(
  {
    ddsId: Type.String(),
    batchExternalId: Type.String(),
    batchInternalId: Type.String(),
    status: Type.Literal('DRAFT'),
    hsCode: nullable('string', "The product's HS code when the draft was made"),
    countryOfProduction: nullable('string', "The product's country of origin when the draft was made"),
    quantity: nullable('number', "The batch's quantity"),
    unit: nullable('string', "The batch's unit of measure"),
    referenceNumber: Type.Null(),
    verificationNumber: Type.Null(),
    missing: Type.Array(Type.String(), {
      description: 'What must still be supplied before the statement can be submitted; never empty',
    }),
  },
  { title: 'DdsEntry' },
);
export type DdsEntry = Static<typeof DdsEntry>;
