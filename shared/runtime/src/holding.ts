// The data of one integration in one collection or stream: how much there is, and how to remove all of it (`ops purge`).
import type { Bus } from './bus/index.ts';
import type { Filter, Store } from './store/index.ts';

export interface Holding {
  /** `MongoDB` or `NATS`, and the name of the collection or stream. */
  location: string;
  count: () => Promise<number>;
  /** Resolves with the number of removed documents or messages. May be interrupted and repeated. */
  remove: () => Promise<number>;
}

interface Identified {
  _id: string;
  [field: string]: unknown;
}

/** How many documents one command removes: MongoDB removes them long before the driver's socket time-out. */
const documentsAtOnce = 1_000;

export function documentHolding(
  store: Pick<Store, 'collection'>,
  name: string,
  filter: Filter<Identified>,
): Holding {
  const collection = store.collection<Identified>(name);
  return {
    location: `MongoDB ${name}`,
    count: () => collection.countDocuments(filter),
    async remove() {
      let removed = 0;
      for (;;) {
        const some = await collection
          .find(filter, { projection: { _id: 1 } })
          .limit(documentsAtOnce)
          .toArray();
        if (some.length === 0) return removed;
        const ids = some.map(({ _id }) => _id);
        const { deletedCount } = await collection.deleteMany({ $and: [filter, { _id: { $in: ids } }] });
        removed += deletedCount;
      }
    },
  };
}

/** The messages of a subject, in a stream that must exist. */
export const messageHolding = (bus: Bus, stream: string, subject: string): Holding => ({
  location: `NATS ${stream}`,
  count: () => bus.countMessages(stream, subject),
  remove: () => bus.purge(stream, subject),
});
