import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nowSeconds } from '../../support/access-tokens.ts';
import { openForeignIssuer, type ForeignIssuer } from '../../support/foreign-issuer.ts';
import { forgeries } from '../../support/forgeries.ts';
import { openGateway, openServices, type TestGateway } from '../../support/gateway.ts';
import { startNats } from '../../support/nats.ts';
import { expectProblem } from '../../support/problems.ts';
import { unlessBusy } from '../../support/unless-busy.ts';
import { claimsOf, providers, type Provider } from '../../support/provider-tokens.ts';

// Tokens of identity providers, which the gateway takes by its settings alone: it finds the keys by the issuer's name.

const stack = new AsyncDisposableStack();
let natsUrl: string;
beforeAll(async () => {
  const nats = stack.use(await startNats());
  stack.use(await openServices(nats.url));
  natsUrl = nats.url;
});
afterAll(() => stack.disposeAsync());

const list = (gateway: TestGateway, token: string): Promise<Response> =>
  unlessBusy(() =>
    fetch(`${gateway.url}/api/v1/integration/suppliers`, { headers: { authorization: `Bearer ${token}` } }),
  );
const push = (gateway: TestGateway, token: string): Promise<Response> =>
  unlessBusy(() =>
    fetch(`${gateway.url}/api/v1/integration/suppliers`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{"suppliers":[]}',
    }),
  );

interface World {
  issuer: ForeignIssuer;
  gateway: TestGateway;
}

describe.each(Object.entries(providers))('tokens of the identity provider %s', (_name, provider) => {
  const inner = new AsyncDisposableStack();
  let world: World;
  beforeAll(async () => {
    world = await openWorld(provider, inner);
  });
  afterAll(() => inner.disposeAsync());

  const claims = (changed: Record<string, unknown> = {}) =>
    claimsOf(world.issuer.issuer, provider.claims, changed);
  const sign = (claims_: unknown, header: Record<string, unknown> = {}): string =>
    world.issuer.sign(claims_, { ...provider.header, ...header });

  it('are accepted for their integration', async () => {
    const answer = await list(world.gateway, sign(claims()));
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ headers: { integration: 'acme' } });
  });

  it('have the scopes of the configured claim, and no other scopes', async () => {
    const [enough, tooFew] = [['integration:suppliers:read'], ['integration:suppliers:write']].map((scopes) =>
      sign(claims(provider.scoped(scopes))),
    );
    expect((await list(world.gateway, String(enough))).status).toBe(200);
    await expectProblem(await list(world.gateway, String(tooFew)), {
      status: 403,
      code: 'insufficient_scope',
    });
  });

  it.each(namesOf(provider))('%s: 401', async (name) => {
    const mint = {
      claims,
      sign,
      hmacSecret: world.issuer.publicPem,
      integration: provider.integration,
    };
    const [, make] = forgeries(mint).find(([one]) => one === name) ?? [];
    await expectProblem(await list(world.gateway, String(make?.())), { status: 401, code: 'unauthorized' });
  });

  it.each<[string, (issuer: string) => Record<string, unknown>]>([
    ['an ID token', (issuer) => claimsOf(issuer, provider.idToken)],
    ['an ID token with a nonce', (issuer) => claimsOf(issuer, provider.idToken, { nonce: 'n' })],
    [
      'an ID token for the audience of the API',
      (issuer) => claimsOf(issuer, { ...provider.claims, nonce: 'n', sub: 'a-user' }),
    ],
    ['a token for another API', (issuer) => claimsOf(issuer, provider.claims, { aud: 'https://other/' })],
  ])('%s: 401', async (_kind, make) => {
    await expectProblem(await list(world.gateway, sign(make(world.issuer.issuer))), {
      status: 401,
      code: 'unauthorized',
    });
  });
});

async function openWorld(provider: Provider, inner: AsyncDisposableStack): Promise<World> {
  const issuer = inner.use(await openForeignIssuer(provider.path));
  const settings = { AUTH_JWT_SECRET: '', AUTH_ISSUER: issuer.issuer, ...provider.settings };
  return { issuer, gateway: inner.use(await openGateway(natsUrl, settings)) };
}

/** The names of the forgeries do not depend on who issues. */
function namesOf(provider: Provider): string[] {
  const mint = {
    claims: () => ({ ...provider.claims }),
    sign: () => 'a.b.c',
    hmacSecret: '',
    integration: provider.integration,
  };
  return forgeries(mint).map(([name]) => name);
}

const byClient = Object.entries(providers).filter(([, { settings }]) => 'AUTH_INTEGRATIONS' in settings);

it.each(byClient)(
  'a token of %s for another client is 401, and the log has the reason',
  async (_name, provider) => {
    await using inner = new AsyncDisposableStack();
    const { issuer, gateway } = await openWorld(provider, inner);
    const token = issuer.sign(
      claimsOf(issuer.issuer, provider.claims, { [provider.integration]: 'another-client' }),
    );
    await expectProblem(await list(gateway, token), { status: 401, code: 'unauthorized' });
    expect(gateway.logText()).toContain('AUTH_INTEGRATIONS does not list the client');
    expect(gateway.logText()).not.toContain(token.split('.')[2]);
  },
);

// Timeline: a caller fetches a token when the last one has two seconds left, and pushes every step; the clock of the
// gateway and of the issuer is the test's own.
it.each([
  { ttlSeconds: 20, stepSeconds: 1, forSeconds: 300 },
  { ttlSeconds: 300, stepSeconds: 15, forSeconds: 3_600 },
])(
  'a caller whose tokens live for $ttlSeconds s pushes for $forSeconds s without a refusal',
  async (times) => {
    await using inner = new AsyncDisposableStack();
    const { Okta: provider } = providers;
    if (provider === undefined) throw new Error('there is no such provider');
    const issuer = inner.use(await openForeignIssuer(provider.path));
    let now = nowSeconds();
    const settings = { AUTH_JWT_SECRET: '', AUTH_ISSUER: issuer.issuer, ...provider.settings };
    const gateway = inner.use(await openGateway(natsUrl, settings, { now: () => now * 1_000 }));
    const issue = () => {
      const exp = now + times.ttlSeconds;
      return {
        exp,
        token: issuer.sign(claimsOf(issuer.issuer, provider.claims, { iat: now, nbf: now, exp })),
      };
    };

    const first = issue();
    let held = first;
    let fetched = 1;
    const failed: number[] = [];
    for (const endsAt = now + times.forSeconds; now < endsAt; now += times.stepSeconds) {
      if (held.exp - now <= 2) {
        held = issue();
        fetched += 1;
      }
      const { status } = await push(gateway, held.token);
      if (status !== 200) failed.push(status);
    }
    expect(failed).toEqual([]);
    expect(fetched).toBeGreaterThanOrEqual(Math.floor(times.forSeconds / times.ttlSeconds));
    expect((await list(gateway, first.token)).status).toBe(401);
  },
);
