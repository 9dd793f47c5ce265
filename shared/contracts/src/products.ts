// A product, as a caller pushes it, and what batches asks catalog about products. The values of a field: fields.ts.
import { Type, type Static } from 'typebox';
import {
  optionalHsCode,
  optionalIdentifier,
  optionalOrigin,
  optionalText,
  requiredText,
  upsertKey,
} from './fields.ts';
import { limits } from './limits.ts';

export const Product = Type.Object(
  {
    externalId: upsertKey("Unique identifier in the caller's system; the upsert key"),
    name: requiredText('Product name', 'Product name is required'),
    category: optionalText('Product category'),
    country: optionalOrigin('Country of origin, ISO 3166-1 alpha-2 or alpha-3 code'),
    hsCode: optionalHsCode('HS/tariff code used for classification'),
    unit: optionalText('Unit of measure (for example kg, pcs)', limits.unitCharactersMax),
    code: optionalText('Product number or SKU'),
    supplierExternalId: optionalIdentifier('Links the product to a synced supplier by its externalId'),
  },
  { title: 'Product' },
);

/** The service batches asks catalog which of these products, which one push names, exist. */
export const ResolveProducts = Type.Object({
  externalIds: Type.Array(Type.String()),
  /** Whether the answer has the fields that a due-diligence draft needs; without them catalog answers faster. */
  withOrigin: Type.Boolean(),
});

/** The answer of catalog: the products that exist, with the two fields that a draft takes from its product. */
export const ResolvedProducts = Type.Object({
  products: Type.Array(
    Type.Object({
      externalId: Type.String(),
      hsCode: Type.Union([Type.String(), Type.Null()]),
      country: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
});
export type ResolvedProducts = Static<typeof ResolvedProducts>;
