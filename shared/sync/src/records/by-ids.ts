// Documents by their ids, in the one way that is fast on every engine and that a sharded MongoDB sends to one shard.
import type { Store } from '@integration-sync/runtime/store';

/** Filters; what else they ask for, the caller adds. */
export interface ByIds {
  one: (integration: string, id: string) => { _id: string; integration?: string };
  these: (integration: string, ids: readonly string[]) => { _id: { $in: string[] }; integration?: string };
}

/**
 * An id says of which integration it is, but not to a mongos, which has to know the shard to ask. No other server has to
 * be told, and FerretDB, which looks at each document for each field of a filter, reads a fifth longer for one more.
 */
export function filtersByIds({ isSharded }: Pick<Store, 'isSharded'>): ByIds {
  const shardOf = (integration: string) => (isSharded ? { integration } : {});
  return {
    one: (integration, id) => ({ _id: id, ...shardOf(integration) }),
    these: (integration, ids) => ({ _id: { $in: [...ids] }, ...shardOf(integration) }),
  };
}

/**
 * For what is written. MongoDB would otherwise try the indexes that begin with the integration too, and might keep to
 * one of them.
 */
export const byTheirIds = { hint: '_id_' } as const;

/**
 * For what is read. One round trip, where the driver would otherwise ask for the first hundred and then for the rest;
 * and without the hint, with which DocumentDB takes four times as long. MongoDB tries its indexes beside each other
 * once, and the one of the ids wins, as every step of it finds a record.
 */
export const allOfThem = (count: number) => ({ batchSize: count + 1, singleBatch: true });
