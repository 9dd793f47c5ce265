// The indexes by which listings find what they show.
import type { NamedIndex } from '@integration-sync/runtime/store';
import { changedIndex } from '../records/change-times.ts';

export const orderIndex = { name: 'creation-order', key: { integration: 1, order: 1 } } as const;
export const syncedIndex = { name: 'last-synced', key: { integration: 1, lastSyncedAt: 1 } } as const;

export const listingIndexes: readonly NamedIndex[] = [orderIndex, syncedIndex];
/** Of what is listed by its changes as well. */
export const recordIndexes: readonly NamedIndex[] = [...listingIndexes, changedIndex];
