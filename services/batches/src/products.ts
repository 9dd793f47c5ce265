// What batches asks catalog: which of the products exist that a push points at, once per push. What is answered for an item whose
// product does not exist: batches.ts.
import { Failure, requestHeaders, ResolvedProducts, subjects } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import { readAnswer, type Reference } from '@integration-sync/sync';

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
  async (externalIds, { integration, requestId, traceparent, withContent }) => {
    const body = await ask(bus, JSON.stringify({ externalIds, withOrigin: withContent }), {
      [requestHeaders.integration]: integration,
      [requestHeaders.requestId]: requestId,
      [requestHeaders.traceparent]: traceparent,
    });
    const { products } = readAnswer(ResolvedProducts, body);
    return new Map(products.map(({ externalId, hsCode, country }) => [externalId, { hsCode, country }]));
  };

async function ask(bus: Bus, body: string, headers: Record<string, string | undefined>): Promise<Uint8Array> {
  try {
    const reply = await bus.request(subjects.productsResolve, {
      headers,
      body,
      timeoutMs,
      repeatable: true,
    });
    return reply.body;
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'timeout') throw error;
    // To the caller it makes no difference whether catalog is gone or stands still: batches has written
    // nothing.
    throw new Failure('unavailable', 'The catalog service does not answer; try again shortly.', {
      retryAfterSeconds: 1,
      cause: error,
    });
  }
}
