// The optional limit on the requests of an integration (RATE_LIMIT_REQUESTS). Each replica counts for itself, and
// counts only requests whose token and other headers are good. A window is measured by a monotonic clock, because a clock that is
// set back would lengthen it.
import { Failure } from '@integration-sync/contracts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
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
  /** By integration; the window that began first is the first. */
  const windows = new Map<string, { endsAt: number; requests: number }>();

  const open = (integration: string, now: number) => {
    const window = { endsAt: now + windowSeconds * 1_000, requests: 0 };
    windows.delete(integration);
    windows.set(integration, window);
    const [first] = windows.keys();
    if (windows.size > windowsMax && first !== undefined) windows.delete(first);
    return window;
  };
  const count = async ({ exchange }: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const integration = exchange.caller?.integration ?? '';
    const now = performance.now();
    const known = windows.get(integration);
    const window = known !== undefined && now < known.endsAt ? known : open(integration, now);
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
