import { allScopes, codes, eventKinds, Product, routes, Supplier } from '@integration-sync/contracts';
import { productExample, supplierExample } from '@integration-sync/contracts/examples';
import { expect, it } from 'vitest';

it('every operation has its own id, and every method of a path one route', () => {
  const ids = routes.map((route) => route.operationId);
  const keys = routes.map((route) => `${route.method} ${route.path}`);
  expect(new Set(ids).size).toBe(ids.length);
  expect(new Set(keys).size).toBe(keys.length);
});

it('every route needs an existing scope', () => {
  for (const route of routes) expect(allScopes).toContain(route.scope);
});

it('reads need a read scope, erasures their own scope, and all other routes, except plans, a write scope', () => {
  for (const route of routes) {
    if (route.path.endsWith('/plan')) continue;
    const verb = route.path.endsWith('/erase') ? 'erase' : 'write';
    expect(`${route.operationId} ${route.scope.split(':')[2]}`).toBe(
      `${route.operationId} ${route.method === 'GET' ? 'read' : verb}`,
    );
  }
});

it('a plan needs the read scope or the write scope of its kind', () => {
  const plans = routes.filter(({ path }) => path.endsWith('/plan'));
  expect(plans.map(({ scope, orScope }) => `${scope} ${orScope}`)).toEqual(
    ['suppliers', 'products', 'batches'].map((kind) => `integration:${kind}:read integration:${kind}:write`),
  );
});

it('the contracts name sixteen kinds of events', () => {
  expect(eventKinds).toEqual([
    'supplier.created',
    'supplier.updated',
    'supplier.archived',
    'supplier.erased',
    'product.created',
    'product.updated',
    'product.archived',
    'batch.created',
    'batch.updated',
    'batch.archived',
    'dds.created',
    'dds.updated',
    'sync.completed',
    'sync.overdue',
    'webhook.disabled',
    'webhook.enabled',
  ]);
});

it('the examples of a supplier and of a product have each field', () => {
  expect(Object.keys(supplierExample.item)).toEqual(Object.keys(Supplier.properties));
  expect(Object.keys(productExample.item)).toEqual(Object.keys(Product.properties));
});

it('each error code has one status', () => {
  expect(Object.fromEntries(Object.entries(codes).map(([code, { status }]) => [code, status]))).toEqual({
    invalid_json: 400,
    invalid_request: 400,
    unauthorized: 401,
    insufficient_scope: 403,
    not_found: 404,
    method_not_allowed: 405,
    conflict: 409,
    too_many_items: 413,
    body_too_large: 413,
    unsupported_media_type: 415,
    rate_limited: 429,
    internal: 500,
    unavailable: 503,
    timeout: 504,
  });
});
