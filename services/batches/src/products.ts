// Asks catalog, once for each push of batches, which of the named products exist. batches.ts words the error of an item
// whose product does not exist.
import { Failure, ResolvedProducts, subjects } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import { askService, type Reference } from '@integration-sync/sync';

/** The fields of a product that a due-diligence draft shows. */
export type ProductOrigin = Omit<ResolvedProducts['products'][number], 'externalId'>;

export type ResolveProductsOf = Reference<ProductOrigin>['find'];

/** How long batches waits for catalog: its caller learns within three seconds that catalog, MongoDB or NATS is away. */
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

/** A time-out becomes `unavailable`, as for an absent catalog: batches has written nothing yet, so the caller may retry. */
function unavailable(error: unknown): never {
  if (!(error instanceof Failure) || error.code !== 'timeout') throw error;
  throw new Failure('unavailable', 'The catalog service does not answer; try again shortly.', {
    retryAfterSeconds: 1,
    cause: error,
  });
}
