// What one integration has in one place, for an operator who removes all of it: how much is there, and the removing.
// Each service says which places are its own.
import type { Bus } from './bus/index.ts';
import type { Filter, Store } from './store/index.ts';

export interface Holding {
  /** As an operator finds it: the name of a collection or of a stream, with the engine that has it. */
  place: string;
  count: () => Promise<number>;
  /** Resolves with how much it removed. May be cut off, and done again. */
  remove: () => Promise<number>;
}

interface Identified {
  _id: string;
  [field: string]: unknown;
}

/** So few that a removal ends long before the driver gives up its connection. */
const documentsAtOnce = 1_000;

export function documentHolding(
  store: Pick<Store, 'collection'>,
  name: string,
  filter: Filter<Identified>,
): Holding {
  const collection = store.collection<Identified>(name);
  return {
    place: `MongoDB ${name}`,
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

type Stored = Pick<Bus, 'countMessages' | 'purge'>;

/** Of a stream that is there. */
export const messageHolding = (bus: Stored, stream: string, subjects: readonly string[]): Holding => ({
  place: `NATS ${stream}`,
  count: () => sum(subjects, (subject) => bus.countMessages(stream, subject)),
  remove: () => sum(subjects, (subject) => bus.purge(stream, subject)),
});

async function sum(subjects: readonly string[], count: (subject: string) => Promise<number>) {
  let all = 0;
  for (const subject of subjects) all += await count(subject);
  return all;
}
