// An optional limit on how many requests an integration makes. Off unless configured; each replica counts for
// itself, and only requests that were let in.
import rateLimit from '@fastify/rate-limit';
import { Failure } from '@integration-sync/contracts';
import type { FastifyInstance } from 'fastify';
import type { GatewayConfig } from './config.ts';

export async function limitRates(api: FastifyInstance, config: GatewayConfig): Promise<void> {
  if (config.RATE_LIMIT_REQUESTS === 0) return;
  await api.register(rateLimit, {
    max: config.RATE_LIMIT_REQUESTS,
    timeWindow: config.RATE_LIMIT_WINDOW_SECONDS * 1_000,
    // `RateLimit-Limit`, `-Remaining` and `-Reset`.
    enableDraftSpec: true,
    // Routes ask for the token in their own onRequest, and this one comes behind it.
    hook: 'onRequest',
    keyGenerator: ({ exchange }) => exchange.caller?.integration ?? '',
    errorResponseBuilder: (_request, { max, ttl }) => {
      const seconds = Math.ceil(ttl / 1_000);
      return new Failure('rate_limited', `More than ${max} requests; try again in ${seconds} s.`, {
        retryAfterSeconds: seconds,
      });
    },
  });
}
