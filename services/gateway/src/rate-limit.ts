// The optional limit on the requests of an integration (RATE_LIMIT_REQUESTS). Each replica counts for itself, and
// counts only requests whose token and other headers are good.
import rateLimit from '@fastify/rate-limit';
import { Failure } from '@integration-sync/contracts';
import type { FastifyInstance } from 'fastify';
import type { GatewayConfig } from './config.ts';

export async function limitRates(api: FastifyInstance, config: GatewayConfig): Promise<void> {
  if (config.RATE_LIMIT_REQUESTS === 0) return;
  await api.register(rateLimit, {
    max: config.RATE_LIMIT_REQUESTS,
    timeWindow: config.RATE_LIMIT_WINDOW_SECONDS * 1_000,
    // For how many integrations the plugin keeps counts. The default of the plugin is 5,000.
    cache: 100_000,
    // Adds the headers `RateLimit-Limit`, `-Remaining` and `-Reset`.
    enableDraftSpec: true,
    // The `onRequest` hook of the route checks the token, and runs before the hook of the rate limit.
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
