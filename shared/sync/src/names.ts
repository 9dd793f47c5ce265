// The names of a service's collections beside those of its records, and the indexes of listings. The index of changes is built
// for the first listing that needs it (records/change-times.ts).
import type { NamedIndex } from '@integration-sync/runtime/store';

export const collectionNames = (service: string) => ({
  journal: `${service}_journal`,
  watermarks: `${service}_heads`,
  keys: `${service}_keys`,
});

export const orderIndex = { name: 'creation-order', key: { integration: 1, order: 1 } } as const;
export const syncedIndex = { name: 'last-synced', key: { integration: 1, lastSyncedAt: 1 } } as const;

/** The index for listings of drafts with `status`: finds the drafts in creation order. */
export const statusIndex = {
  name: 'status-order',
  key: { integration: 1, 'entry.status': 1, order: 1 },
} as const;

export const listingIndexes: readonly NamedIndex[] = [orderIndex, syncedIndex];
