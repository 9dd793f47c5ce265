// What batches asks catalog: which of the products exist that a push points at, once per push. What is answered for an item whose
// product does not exist: batches.ts.
import { Failure, ResolvedProducts, subjects } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import { askService, type Reference } from '@integration-sync/sync';

/** What a due-diligence draft takes from its product. */
export interface ProductOrigin {
  hsCode: string | null;
  country: string | null;
}

export type ResolveProductsOf = Reference<ProductOrigin>['find'];

/** Within three seconds a caller learns that catalog or an engine is away. */
const timeoutMs = 2_500;

export const resolveProducts =
  (bus: Bus): ResolveProductsOf =>
  async (externalIds, asking, withOrigin) => {
    const { products } = await askService(bus, asking, {
      subject: subjects.productsResolve,
      body: { externalIds, withOrigin },
      timeoutMs,
      answer: ResolvedProducts,
    }).catch(unavailable);
    return new Map(products.map(({ externalId, hsCode, country }) => [externalId, { hsCode, country }]));
  };

/** To the caller it makes no difference whether catalog is gone or stands still: batches has written nothing. */
function unavailable(error: unknown): never {
  if (!(error instanceof Failure) || error.code !== 'timeout') throw error;
  throw new Failure('unavailable', 'The catalog service does not answer; try again shortly.', {
    retryAfterSeconds: 1,
    cause: error,
  });
}
