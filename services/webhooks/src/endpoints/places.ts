// The places in the streams that endpoints remember, and what happens to them when the streams are no longer
// the same.
import type { Collection, Filter } from '@integration-sync/runtime/store';
import type { Endpoint } from './endpoint.ts';

/** In EVENTS and in HELD. */
export interface Places {
  events: number;
  held: number;
}

export const placesOf = (collection: Collection<Endpoint>) => ({
  async forgetPlaces(madeAt: Date) {
    const stale: Filter<Endpoint> = { createdAt: { $lt: madeAt } };
    const integrations = await collection.distinct('integration', stale);
    if (integrations.length > 0)
      await collection.updateMany(stale, {
        $set: { eventsAfter: 0, earlierEvents: [], trials: [] },
        $inc: { version: 1 },
      });
    return integrations;
  },
  async furthestPlaces() {
    const [found] = await collection
      .aggregate<Places>([
        { $project: { eventsAfter: 1, held: { $max: '$trials.sequence' } } },
        { $group: { _id: null, events: { $max: '$eventsAfter' }, held: { $max: '$held' } } },
      ])
      .toArray();
    return { events: found?.events ?? 0, held: found?.held ?? 0 };
  },
  async bringBack({ events, held }: Places) {
    const ahead: Filter<Endpoint> = { eventsAfter: { $gt: events } };
    const tried: Filter<Endpoint> = { 'trials.sequence': { $gt: held } };
    const integrations = await collection.distinct('integration', { $or: [ahead, tried] });
    const version = { $inc: { version: 1 } } as const;
    await collection.updateMany(tried, { $set: { trials: [] }, ...version });
    await collection.updateMany(ahead, {
      $set: { eventsAfter: events },
      $pull: { earlierEvents: { through: { $gt: events } } },
      ...version,
    });
    return integrations;
  },
});
