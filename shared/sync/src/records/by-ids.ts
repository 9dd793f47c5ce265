// Filters and options for queries by id that are fast on every engine, and that a sharded MongoDB sends to one shard.
import type { Store } from '@integration-sync/runtime/store';

export type ByIds = ReturnType<typeof filtersByIds>;

/**
 * Filters by one id or by several ids, to which the caller may add conditions. An id alone finds a document, but a mongos needs the
 * shard key, the integration. Other servers get no integration: FerretDB checks each field of a filter in each document, and one more
 * field makes reads a fifth slower.
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
