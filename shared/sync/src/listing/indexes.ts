// The indexes by which listings find what they show. That of changes is made when it is asked for (records/change-times.ts).
import type { NamedIndex } from '@integration-sync/runtime/store';

export const orderIndex = { name: 'creation-order', key: { integration: 1, order: 1 } } as const;
export const syncedIndex = { name: 'last-synced', key: { integration: 1, lastSyncedAt: 1 } } as const;

export const listingIndexes: readonly NamedIndex[] = [orderIndex, syncedIndex];
