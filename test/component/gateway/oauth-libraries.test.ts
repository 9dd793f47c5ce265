import * as oauth from 'oauth4webapi';
import * as client from 'openid-client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { clientEntry, clientsFile, testSecret } from '../../support/clients.ts';
import { openReadyGateway, openServices, type TestGateway } from '../../support/gateway.ts';
import { startNats } from '../../support/nats.ts';

// Public libraries fetch a token and push with it, as their documentation says. Only plain http is allowed to them.

const stack = new AsyncDisposableStack();
const { secret, entry } = testSecret();
const id = 'erp+nightly:1';
let gateway: TestGateway;

beforeAll(async () => {
  const nats = stack.use(await startNats());
  stack.use(await openServices(nats.url));
  const file = stack.use(await clientsFile([clientEntry(id, [entry])]));
  gateway = stack.use(await openReadyGateway(nats.url, { AUTH_CLIENTS_FILE: file.path }));
});
afterAll(() => stack.disposeAsync());

const push = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ suppliers: [{ externalId: 'S-1', name: 'Oak' }] }),
} as const;
const scope = 'integration:suppliers:write';

it.each([
  ['Basic', client.ClientSecretBasic],
  ['the form', client.ClientSecretPost],
])('openid-client fetches a token by its discovery and %s', async (_name, method) => {
  const config = await client.discovery(new URL(gateway.url), id, undefined, method(secret), {
    algorithm: 'oauth2',
    execute: [client.allowInsecureRequests],
  });
  const tokens = await client.clientCredentialsGrant(config, { scope });
  expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 3_600, scope });
  const url = new URL(`${gateway.url}/api/v1/integration/suppliers`);
  const answer = await client.fetchProtectedResource(
    config,
    tokens.access_token,
    url,
    'POST',
    push.body,
    new Headers(push.headers),
  );
  expect(answer.status).toBe(200);
});

it.each([
  ['Basic', oauth.ClientSecretBasic],
  ['the form', oauth.ClientSecretPost],
])('oauth4webapi fetches a token by %s', async (_name, method) => {
  const insecure = { [oauth.allowInsecureRequests]: true };
  const issuer = new URL(gateway.url);
  const discovered = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure });
  const server = await oauth.processDiscoveryResponse(issuer, discovered);
  const self: oauth.Client = { client_id: id };
  const form = new URLSearchParams({ scope });
  const answer = await oauth.clientCredentialsGrantRequest(server, self, method(secret), form, insecure);
  const tokens = await oauth.processClientCredentialsResponse(server, self, answer);
  expect(tokens).toMatchObject({ token_type: 'bearer', scope });
  const pushed = await oauth.protectedResourceRequest(
    tokens.access_token,
    'POST',
    new URL(`${gateway.url}/api/v1/integration/suppliers`),
    new Headers(push.headers),
    push.body,
    insecure,
  );
  expect(pushed.status).toBe(200);
});
