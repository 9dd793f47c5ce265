import { expect, it } from 'vitest';
import {
  TokenRefused,
  openCallerClaims,
  readCaller,
} from '../../../services/gateway/src/tokens/token-claims.ts';

const scope = 'integration:suppliers:read';

it('the integration and the scopes come from the configured claims', () => {
  const read = openCallerClaims({
    AUTH_INTEGRATION_CLAIM: 'https://example.com/tenant',
    AUTH_SCOPE_CLAIM: '/resource_access/sync/roles',
  });
  const claims = {
    'https://example.com/tenant': 'acme',
    integration_id: 'rival',
    resource_access: { sync: { roles: [scope] } },
    scope: 'integration:suppliers:write',
  };
  expect(readCaller(claims, read)).toEqual({ integration: 'acme', scopes: new Set([scope]) });
});

it('a token without the configured claims has no scopes, or is refused without an integration', () => {
  const read = openCallerClaims({ AUTH_INTEGRATION_CLAIM: '/a/b', AUTH_SCOPE_CLAIM: '/c/d' });
  expect(readCaller({ a: { b: 'acme' }, c: 'text' }, read).scopes).toEqual(new Set());
  expect(() => readCaller({ integration_id: 'acme' }, read)).toThrow(TokenRefused);
});

const byClient = openCallerClaims({
  AUTH_INTEGRATIONS: 'erp=acme, 0oa1 = rival ,x@clients=shop,k=v=keyed',
  AUTH_SCOPE_CLAIM: 'scope',
});

it.each<[Record<string, unknown>, string]>([
  [{ azp: 'erp' }, 'acme'],
  [{ client_id: 'erp' }, 'acme'],
  [{ cid: '0oa1' }, 'rival'],
  [{ appid: 'erp' }, 'acme'],
  [{ sub: 'x@clients' }, 'shop'],
  [{ sub: 'k=v' }, 'keyed'],
  [{ azp: 'erp', client_id: '0oa1', sub: 'unknown' }, 'acme'],
  [{ client_id: '0oa1', cid: 'erp', sub: 'erp' }, 'rival'],
  [{ cid: '0oa1', appid: 'erp' }, 'rival'],
  [{ appid: 'erp', sub: '0oa1' }, 'acme'],
  [{ azp: 'erp', integration_id: 'other' }, 'acme'],
])('the first claim of a client in %j decides: %s', (claims, integration) => {
  expect(readCaller(claims, byClient).integration).toBe(integration);
});

it.each<[Record<string, unknown>]>([
  [{}],
  [{ integration_id: 'acme' }],
  [{ azp: 'unknown', client_id: 'erp', sub: 'erp' }],
  [{ azp: '', client_id: 'erp' }],
  [{ azp: null, client_id: 'erp' }],
  [{ azp: ['erp'], client_id: 'erp' }],
  [{ azp: 'ERP' }],
  [{ azp: 'constructor' }],
  [{ azp: 'acme' }],
  [{ azp: 'x'.repeat(10_000) }],
])('a token of the client in %j is refused', (claims) => {
  expect(() => readCaller(claims, byClient)).toThrow(/^AUTH_INTEGRATIONS does not list the client .{3,120}$/);
});
