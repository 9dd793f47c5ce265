// What a token may allow. The gateway compares scopes as whole words; none includes another.

export const scopes = {
  suppliersWrite: 'integration:suppliers:write',
  suppliersRead: 'integration:suppliers:read',
  /** For personal data: what it does cannot be undone. */
  suppliersErase: 'integration:suppliers:erase',
  productsWrite: 'integration:products:write',
  productsRead: 'integration:products:read',
  batchesWrite: 'integration:batches:write',
  batchesRead: 'integration:batches:read',
  syncsRead: 'integration:syncs:read',
  webhooksWrite: 'integration:webhooks:write',
  webhooksRead: 'integration:webhooks:read',
  eventsRead: 'integration:events:read',
} as const;

export type Scope = (typeof scopes)[keyof typeof scopes];

export const allScopes: readonly Scope[] = Object.values(scopes);
