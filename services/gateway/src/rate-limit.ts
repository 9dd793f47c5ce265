// The optional limit on the requests of an integration (RATE_LIMIT_REQUESTS). Each replica counts for itself, and
// counts only requests whose token and other headers are good. A window is measured by a monotonic clock, because a clock that is
// set back would lengthen it.
import { Failure } from '@integration-sync/contracts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { GatewayConfig } from './config.ts';

/** For how many integrations a replica keeps windows. */
const windowsMax = 100_000;

export function limitRates(
  api: FastifyInstance,
  {
    RATE_LIMIT_REQUESTS: max,
    RATE_LIMIT_WINDOW_SECONDS: windowSeconds,
  }: Pick<GatewayConfig, 'RATE_LIMIT_REQUESTS' | 'RATE_LIMIT_WINDOW_SECONDS'>,
): void {
  if (max === 0) return;
  const windows = new LRUCache<string, { endsAt: number; requests: number }>({ max: windowsMax });

  const count = async ({ exchange }: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const integration = exchange.caller?.integration ?? '';
    // Sums of whole milliseconds are exact, so that no caller reads that a window ends later than it does.
    const now = Math.floor(performance.now());
    let window = windows.get(integration);
    if (window === undefined || now >= window.endsAt) {
      window = { endsAt: now + windowSeconds * 1_000, requests: 0 };
      windows.set(integration, window);
    }
    window.requests += 1;
    const seconds = Math.ceil((window.endsAt - now) / 1_000);
    reply.headers({
      'ratelimit-limit': max,
      'ratelimit-remaining': Math.max(0, max - window.requests),
      'ratelimit-reset': seconds,
    });
    if (window.requests <= max) return;
    throw new Failure('rate_limited', `More than ${max} requests; try again in ${seconds} s.`, {
      retryAfterSeconds: seconds,
    });
  };
  // The route's own `onRequest` hook checks the token, and runs before `count`.
  api.addHook('onRoute', (route) => {
    route.onRequest = [route.onRequest ?? [], count].flat();
  });
}
