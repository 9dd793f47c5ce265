// The scopes of tokens. The gateway compares scopes as whole words; no scope includes another scope.

export const scopes = {
  suppliersWrite: 'integration:suppliers:write',
  suppliersRead: 'integration:suppliers:read',
  /** Erasing has a separate scope, because erased personal data cannot be restored. */
  suppliersErase: 'integration:suppliers:erase',
  productsWrite: 'integration:products:write',
  productsRead: 'integration:products:read',
  batchesWrite: 'integration:batches:write',
  batchesRead: 'integration:batches:read',
  syncsRead: 'integration:syncs:read',
  expectationsWrite: 'integration:expectations:write',
  expectationsRead: 'integration:expectations:read',
  webhooksWrite: 'integration:webhooks:write',
  webhooksRead: 'integration:webhooks:read',
  eventsRead: 'integration:events:read',
} as const;

export type Scope = (typeof scopes)[keyof typeof scopes];

export const allScopes: readonly Scope[] = Object.values(scopes);
