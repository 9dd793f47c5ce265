import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { everyScope } from '../../support/access-tokens.ts';
import { openGateway, openServices, type TestGateway } from '../../support/gateway.ts';
import { startNats } from '../../support/nats.ts';
import { expectProblem } from '../../support/problems.ts';
import { unlessBusy } from '../../support/unless-busy.ts';
import { listen } from '../../support/servers.ts';

// A provider that others wrote issues tokens by client credentials, and the gateway takes them by its settings alone.

const audience = 'https://sync.example.com/api';
const otherApi = 'https://other.example.com/api';
const stack = new AsyncDisposableStack();
let issuer: string;
let gateway: TestGateway;

beforeAll(async () => {
  issuer = await openProvider();
  const nats = stack.use(await startNats());
  stack.use(await openServices(nats.url));
  gateway = stack.use(
    await openGateway(nats.url, {
      AUTH_JWT_SECRET: '',
      AUTH_ISSUER: issuer,
      AUTH_AUDIENCE: audience,
      AUTH_INTEGRATIONS: 'erp-job=acme',
    }),
  );
});
afterAll(() => stack.disposeAsync());

async function openProvider(): Promise<string> {
  const server = createServer();
  const { url: name } = stack.use(await listen(server));
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const provider = new Provider(name, {
    clients: ['erp-job', 'another-job'].map(clientOf),
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'RS256' }] },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context: unknown, resource: string) => ({
          scope: everyScope,
          audience: resource,
          accessTokenTTL: 3_600,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  });
  server.on('request', provider.callback());
  return name;
}

const secretOf = (client: string): string => `the-secret-of-${client}-of-32-bytes-or-more`;

const clientOf = (id: string) => ({
  client_id: id,
  client_secret: secretOf(id),
  grant_types: ['client_credentials'],
  redirect_uris: [],
  response_types: [],
});

/** By the grant of client credentials, at the endpoint that the provider's metadata name. */
async function fetchToken(client: string, resource = audience, scope = everyScope): Promise<string> {
  const metadata = await fetch(`${issuer}/.well-known/openid-configuration`);
  const { token_endpoint: endpoint } = (await metadata.json()) as { token_endpoint: string };
  const answer = await fetch(endpoint, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${client}:${secretOf(client)}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource, scope }),
  });
  const { access_token: token } = (await answer.json()) as { access_token?: unknown };
  if (typeof token !== 'string') throw new Error(`the provider answers ${answer.status}`);
  return token;
}

const push = (token: string): Promise<Response> =>
  unlessBusy(() =>
    fetch(`${gateway.url}/api/v1/integration/suppliers`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{"suppliers":[]}',
    }),
  );

it('a token of oidc-provider pushes for the integration of its client', async () => {
  const token = await fetchToken('erp-job');
  const answer = await push(token);
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ headers: { integration: 'acme' } });
});

it('a token of oidc-provider with other scopes is answered 403, and a token of another client or for another API 401', async () => {
  const reading = await fetchToken('erp-job', audience, 'integration:suppliers:read');
  expect((await push(reading)).status).toBe(403);
  const forged = [await fetchToken('another-job'), await fetchToken('erp-job', otherApi)];
  for (const token of forged) {
    await expectProblem(await push(token), { status: 401, code: 'unauthorized' });
  }
});
