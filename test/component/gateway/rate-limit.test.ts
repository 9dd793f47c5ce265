import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { bearer } from '../../support/access-tokens.ts';
import { openReadyGateway, openServices, type TestGateway } from '../../support/gateway.ts';
import { startNats } from '../../support/nats.ts';
import { expectProblem } from '../../support/problems.ts';

const stack = new AsyncDisposableStack();
let limited: TestGateway;
let unlimited: TestGateway;
/** Its window lasts for longer than the tests. */
let counting: TestGateway;

beforeAll(async () => {
  const nats = stack.use(await startNats());
  stack.use(await openServices(nats.url));
  const settings = { RATE_LIMIT_REQUESTS: '3', RATE_LIMIT_WINDOW_SECONDS: '5' };
  limited = stack.use(await openReadyGateway(nats.url, settings));
  counting = stack.use(await openReadyGateway(nats.url, { ...settings, RATE_LIMIT_WINDOW_SECONDS: '3600' }));
  unlimited = stack.use(await openReadyGateway(nats.url));
});
afterAll(() => stack.disposeAsync());

const list = (gateway: TestGateway, integration: string, scope?: string, method = 'GET'): Promise<Response> =>
  fetch(`${gateway.url}/api/v1/integration/suppliers`, {
    method,
    headers: bearer({ integration_id: integration, ...(scope === undefined ? {} : { scope }) }),
  });

it('no integration has a limit unless an operator sets one', async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, () => list(unlimited, 'acme')));
  for (const answer of answers) {
    expect(answer.status).toBe(200);
    expect(answer.headers.has('ratelimit-limit')).toBe(false);
  }
});

it('each integration has its own rate limit, with its remaining requests and Retry-After', async () => {
  const [acme, bystander] = [randomUUID(), randomUUID()];
  for (const left of ['2', '1', '0']) {
    const answer = await list(limited, acme);
    expect({ status: answer.status, left: answer.headers.get('ratelimit-remaining') }).toEqual({
      status: 200,
      left,
    });
    expect(answer.headers.get('ratelimit-limit')).toBe('3');
    expect(Number(answer.headers.get('ratelimit-reset'))).toBeGreaterThan(0);
  }
  const refused = await list(limited, acme);
  const seconds = Number(refused.headers.get('retry-after'));
  expect(seconds).toBeGreaterThanOrEqual(1);
  expect(seconds).toBeLessThanOrEqual(5);
  await expectProblem(refused, {
    status: 429,
    code: 'rate_limited',
    headers: { 'ratelimit-remaining': '0' },
  });
  expect((await list(limited, bystander)).status).toBe(200);
  await expect
    .poll(async () => (await list(limited, acme)).status, { timeout: 15_000, interval: 250 })
    .toBe(200);
});

it('a clock that is set back makes no rate limit longer, and a HEAD request counts once', async () => {
  const integration = randomUUID();
  for (const left of ['2', '1', '0']) {
    const { headers } = await list(counting, integration, undefined, 'HEAD');
    expect(headers.get('ratelimit-remaining')).toBe(left);
  }
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 50_000 });
  try {
    const { status, headers } = await list(counting, integration);
    expect(status).toBe(429);
    expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(3_600);
  } finally {
    vi.useRealTimers();
  }
});

it('requests with a bad token and requests for the gateway’s own pages count toward no rate limit', async () => {
  const unscoped = randomUUID();
  for (let count = 0; count < 5; count += 1) {
    expect((await list(limited, unscoped, 'integration:products:read')).status).toBe(403);
    expect((await fetch(`${limited.url}/healthz`)).status).toBe(200);
  }
  expect((await list(limited, unscoped)).status).toBe(200);
});
