// The declaration of batches for the push and listing engine.
import { Batch } from '@integration-sync/contracts';
import type { Kind } from '@integration-sync/sync';
import { drafting } from './dds.ts';
import type { ProductOrigin, ResolveProductsOf } from './products.ts';

export const batchesKind = (resolve: ResolveProductsOf): Kind<ProductOrigin> => ({
  entityType: 'batch',
  plural: 'batches',
  idPrefix: 'bat',
  schema: Batch,
  nameField: 'batchNumber',
  reference: {
    field: 'productExternalId',
    internalId: { name: 'productInternalId', prefix: 'prd' },
    notFound: (externalId) => `Product with externalId "${externalId}" not found. Sync products first.`,
    find: resolve,
  },
  companions: { ddsVerificationNumber: 'ddsReferenceNumber' },
  drafting,
});
