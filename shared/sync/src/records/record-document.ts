// The stored form of a record, the parameters that all writes of a push share, and queries by id that are fast on every engine and
// that a sharded MongoDB sends to one shard.
import type { Store } from '@integration-sync/runtime/store';
import type { Fields } from '../kind.ts';

export interface RecordDocument {
  /** The internal id. */
  _id: string;
  integration: string;
  /** The externalId; empty in an erased record. */
  externalId: string;
  fields: Fields;
  /** The sort key among all records of the kind. Begins with the sync id of the push that created the record. */
  order: string;
  /** The push that created or last changed the record. While `push` stays the same, so do the fields. */
  push: string;
  /** The fields that `push` changed; absent if it created the record. */
  changed?: readonly string[];
  /** The stamp of the last push of the record, even if that push changed no field. */
  lastSyncedAt: Date;
  /** The stamp of `push`. Absent in records of an earlier release until change-times.ts sets it. */
  changedAt?: Date;
}

export interface Writing {
  integration: string;
  syncId: string;
  at: Date;
  /** How many writes run in parallel. */
  parts: number;
  /** Throws if the push may write no more. Called when a write is encoded and about to be sent. */
  confirm: () => Promise<void>;
}

export type ByIds = ReturnType<typeof filtersByIds>;

/**
 * Filters by one id or by several ids, to which the caller may add conditions. An id alone finds a document, but a mongos needs the shard key, the integration. Other servers get no integration: FerretDB
 * checks each field of a filter in each document, and one more field makes reads a fifth slower.
 */
export function filtersByIds({ isSharded }: Pick<Store, 'isSharded'>) {
  const shardOf = (integration: string) => (isSharded ? { integration } : {});
  return {
    one: (integration: string, id: string) => ({ _id: id, ...shardOf(integration) }),
    these: (integration: string, ids: readonly string[]) => ({
      _id: { $in: [...ids] },
      ...shardOf(integration),
    }),
  };
}

/**
 * For writes: without the hint MongoDB also tries indexes that begin with the integration, and might cache such a plan. Reads have no
 * hint, because it makes DocumentDB four times slower. MongoDB's planner chooses the index of ids for reads anyway, because each of
 * its steps finds a document.
 */
export const byTheirIds = { hint: '_id_' } as const;
