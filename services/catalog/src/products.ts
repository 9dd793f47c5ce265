// The declaration of products for the push and listing engine, and the answer to batches about products.
import { Product, ResolveProducts, type ResolvedProducts } from '@integration-sync/contracts';
import type { BusHandler } from '@integration-sync/runtime/bus';
import { readQuestion, type Kind, type Lookup } from '@integration-sync/sync';

export const productsKind = (suppliers: Lookup): Kind => ({
  entityType: 'product',
  plural: 'products',
  idPrefix: 'prd',
  schema: Product,
  nameField: 'name',
  reference: {
    field: 'supplierExternalId',
    internalId: { name: 'supplierInternalId', prefix: 'sup' },
    notFound: (externalId) => `Supplier with externalId "${externalId}" not found. Sync suppliers first.`,
    find: (externalIds, { integration }) => suppliers.existing(integration, externalIds),
  },
});

/** Tells the batches service which products exist; `withOrigin` adds the fields that due-diligence drafts show. */
export function resolveProducts(products: Lookup): BusHandler {
  return async ({ integration, body }) => {
    const { externalIds, withOrigin } = readQuestion(ResolveProducts, body);
    const found = withOrigin
      ? await products.read(integration, externalIds)
      : await products.existing(integration, externalIds);
    const answer: ResolvedProducts = {
      products: Array.from(found, ([externalId, { hsCode, country }]) => ({
        externalId,
        hsCode: textOrNull(hsCode),
        country: textOrNull(country),
      })),
    };
    return {
      body: JSON.stringify(answer),
      logFields: { asked: externalIds.length, found: answer.products.length },
    };
  };
}

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);
