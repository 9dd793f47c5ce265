import { afterEach, expect, it, vi } from 'vitest';
import { limitRates } from '../../../services/gateway/src/rate-limit.ts';

type Api = Parameters<typeof limitRates>[0];
type Count = (request: object, reply: object) => Promise<void>;

/** Counts a request of an integration. Resolves with the headers of the answer, unless the request is refused. */
function openLimit() {
  const route: { onRequest?: Count[] } = {};
  const api = { addHook: (_name: string, hook: (of: typeof route) => void) => hook(route) };
  limitRates(api as unknown as Api, { RATE_LIMIT_REQUESTS: 1, RATE_LIMIT_WINDOW_SECONDS: 60 });
  return async (integration: string): Promise<Record<string, unknown>> => {
    let sent = {};
    const reply = { headers: (headers: object) => (sent = headers) };
    const request = { exchange: { caller: { integration } } };
    await route.onRequest?.[0]?.(request, reply);
    return sent;
  };
}

afterEach(() => vi.restoreAllMocks());

it('at the first request of a window, RateLimit-Reset is the whole window, at any millisecond of a second', async () => {
  vi.spyOn(performance, 'now').mockReturnValue(65_416.82836185805);
  expect(await openLimit()('acme')).toMatchObject({ 'ratelimit-reset': 60 });
});

it(
  'an integration that goes on sending requests keeps its count beside 100,000 others',
  { timeout: 60_000 },
  async () => {
    const count = openLimit();
    const countOthers = async (from: number, to: number): Promise<void> => {
      for (let other = from; other < to; other += 1) await count(`other-${other}`);
    };
    await count('acme');
    await countOthers(0, 50_000);
    await expect(count('acme')).rejects.toThrow('rate_limited');
    await countOthers(50_000, 100_000);
    await expect(count('acme')).rejects.toThrow('rate_limited');
  },
);
