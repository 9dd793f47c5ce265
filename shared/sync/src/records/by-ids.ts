// Documents by their ids, in the one way that is fast on every engine and that a sharded MongoDB sends to one shard.

/** An id says of which integration it is, but not to a sharded MongoDB, which has to know the shard to ask. */
export const these = (integration: string, ids: readonly string[]) => ({
  _id: { $in: [...ids] },
  integration,
});

/** MongoDB would otherwise try the indexes that begin with the integration too, and might keep to one of them. */
export const byTheirIds = { hint: '_id_' } as const;

/** One round trip, where the driver would otherwise ask for the first hundred and then for the rest. */
export const allOfThem = (count: number) => ({ batchSize: count + 1, singleBatch: true, ...byTheirIds });
