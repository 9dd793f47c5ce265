// The places in EVENTS that endpoints remember, and what happens to them when the stream is no longer the same.
import type { Collection, Filter } from '@integration-sync/runtime/store';
import type { Endpoint } from './endpoint.ts';

export const placesOf = (collection: Collection<Endpoint>) => ({
  async forgetPlaces(madeAt: Date) {
    const stale: Filter<Endpoint> = { createdAt: { $lt: madeAt } };
    const integrations = await collection.distinct('integration', stale);
    if (integrations.length > 0)
      await collection.updateMany(stale, {
        $set: { eventsAfter: 0, earlierEvents: [] },
        $inc: { version: 1 },
      });
    return integrations;
  },
  async furthestPlace() {
    const [found] = await collection
      .aggregate<{ events: number }>([{ $group: { _id: null, events: { $max: '$eventsAfter' } } }])
      .toArray();
    return found?.events ?? 0;
  },
  async bringBack(end: number) {
    const ahead: Filter<Endpoint> = { eventsAfter: { $gt: end } };
    const integrations = await collection.distinct('integration', ahead);
    await collection.updateMany(ahead, {
      $set: { eventsAfter: end },
      $pull: { earlierEvents: { through: { $gt: end } } },
      $inc: { version: 1 },
    });
    return integrations;
  },
});
