// What a product is to the push and listing engine, and what catalog tells others about products.
import { Product, ResolveProducts, type ResolvedProducts } from '@integration-sync/contracts';
import type { BusHandler } from '@integration-sync/runtime/bus';
import { readQuestion, type Kind, type Lookup } from '@integration-sync/sync';

/** A product may point at a supplier, which has to be there. */
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
    async find(externalIds, { integration }) {
      const existing = await suppliers.existing(integration, externalIds);
      return new Map([...existing].map((externalId) => [externalId, true]));
    },
  },
});

/** Answers which products exist and, when asked, with what a due-diligence draft takes from them. */
export function resolveProducts(products: Lookup): BusHandler {
  return async ({ integration, body }) => {
    const { externalIds, withOrigin } = readQuestion(ResolveProducts, body);
    const read = withOrigin ? readOrigins : readExisting;
    const answer: ResolvedProducts = { products: await read(products, integration, externalIds) };
    return {
      body: JSON.stringify(answer),
      logFields: { asked: externalIds.length, found: answer.products.length },
    };
  };
}

async function readOrigins(products: Lookup, integration: string, externalIds: readonly string[]) {
  const found = await products.read(integration, externalIds);
  return [...found].map(([externalId, { hsCode, country }]) => ({
    externalId,
    hsCode: textOrNull(hsCode),
    country: textOrNull(country),
  }));
}

async function readExisting(products: Lookup, integration: string, externalIds: readonly string[]) {
  const existing = await products.existing(integration, externalIds);
  return [...existing].map((externalId) => ({ externalId, hsCode: null, country: null }));
}

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);
