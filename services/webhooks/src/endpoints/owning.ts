// Which replica looks after what is held for an endpoint. The field is called `keeper`.
import type { Collection } from '@integration-sync/runtime/store';
import type { Endpoint } from './endpoint.ts';

export const owning = (collection: Collection<Endpoint>) => ({
  claim: (id: string, replica: string) =>
    collection.findOneAndUpdate(
      // Its own claim too, as the answer to an earlier one may have got lost.
      { _id: id, $or: [{ keeper: { $exists: false } }, { keeper: replica }] },
      { $set: { keeper: replica } },
      { returnDocument: 'after' },
    ),
  async takeOver(id: string, from: string, replica: string) {
    const { modifiedCount } = await collection.updateOne(
      { _id: id, keeper: from },
      { $set: { keeper: replica } },
    );
    return modifiedCount === 1;
  },
  async letGo(id: string, replica: string) {
    await collection.updateOne({ _id: id, keeper: replica }, { $unset: { keeper: 1 } });
  },
  orphans: (alive: readonly string[]) =>
    collection
      .find({ keeper: { $gt: '', $nin: [...alive] } })
      .project<{ _id: string; keeper: string }>({ keeper: 1 })
      .limit(500)
      .toArray(),
});
