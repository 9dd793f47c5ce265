// The endpoints as they stand in MongoDB. Every rule that several replicas could break between them is a
// condition of one update here.
import type { Collection, Filter, Store, UpdateFilter } from '@integration-sync/runtime/store';
import { disablingsMax, type DisabledReason, type Endpoint, type Trial } from './endpoint.ts';
import type { VersionedSubscriber } from './subscribers.ts';

const collectionName = 'webhook_endpoints';

export interface Endpoints {
  insert(endpoint: Endpoint): Promise<void>;
  count(integration: string): Promise<number>;
  list(integration: string, page: number, limit: number): Promise<Endpoint[]>;
  find(id: string): Promise<Endpoint | null>;
  /** Of this integration only. */
  findOf(integration: string, id: string): Promise<Endpoint | null>;
  findAll(ids: readonly string[]): Promise<Endpoint[]>;
  /** One with a secret in use that is sealed with this key. */
  findSealedWith(keyId: string): Promise<Endpoint | null>;
  /** One with a secret in use that is sealed with none of these keys. */
  findSealedWithout(keyIds: readonly string[]): Promise<Endpoint | null>;
  subscribersOf(integrations: readonly string[]): Promise<Map<string, VersionedSubscriber[]>>;
  /**
   * The streams were made anew at that time: the places that older endpoints remember were in other ones. Resolves
   * with the integrations that these are of.
   */
  forgetPlaces(madeAt: Date): Promise<string[]>;
  /** The last places in the streams that any of them remembers. */
  furthestPlaces(): Promise<Places>;
  /** The streams end before some of the places that are remembered. Resolves with the integrations that these are of. */
  bringBack(ends: Places): Promise<string[]>;
  /** Applies the change if the endpoint is still as it was read; null if it is not. */
  change(read: Endpoint, update: UpdateFilter<Endpoint>): Promise<Endpoint | null>;
  remove(integration: string, id: string): Promise<boolean>;

  /** Any 2xx of where it leads now: the gate opens and the counter is zero. False if there was nothing to do. */
  recordSuccess(endpoint: Pick<Endpoint, '_id' | 'epoch' | 'url'>): Promise<boolean>;
  /** A counted failure that leaves the endpoint active; null if it has changed since it was read. */
  recordFailure(read: Endpoint, failures: number, trials: readonly Trial[]): Promise<Endpoint | null>;
  disable(read: Endpoint, reason: DisabledReason, failures: number, at: Date): Promise<Endpoint | null>;
  unannounced(): Promise<Endpoint[]>;
  recordAnnounced(id: string, epoch: number): Promise<void>;

  /** Makes the replica the endpoint's keeper if it has none; null if it has. */
  claim(id: string, replica: string): Promise<Endpoint | null>;
  takeOver(id: string, from: string, replica: string): Promise<boolean>;
  letGo(id: string, replica: string): Promise<void>;
  /** Kept by none of these replicas, which are all that live. */
  orphans(alive: readonly string[]): Promise<{ _id: string; keeper: string }[]>;
  countDisabled(): Promise<number>;
}

/** In EVENTS and in HELD. */
export interface Places {
  events: number;
  held: number;
}

export async function openEndpoints(store: Store): Promise<Endpoints> {
  await store.ensureIndexes(collectionName, [
    { name: 'listing', key: { integration: 1, createdAt: 1, _id: 1 } },
    { name: 'keeper', key: { keeper: 1 }, sparse: true },
    { name: 'unannounced', key: { 'unannounced.epoch': 1 }, sparse: true },
    { name: 'disabled', key: { disabledAt: 1 } },
  ]);
  const collection = store.collection<Endpoint>(collectionName);
  return { ...managing(collection), ...recording(collection), ...keeping(collection) };
}

/** Ids of keys are made of letters, digits, `_` and `-`. */
const sealedWith = (keyIds: readonly string[]): RegExp => new RegExp(`^(${keyIds.join('|')}):`);

/** Of the secret, or of one before it that still signs. */
const ofSecrets = (sealed: RegExp | { $not: RegExp }): Filter<Endpoint> => ({
  $or: [{ secret: sealed }, { previousSecrets: { $elemMatch: { sealed, expiresAt: { $gt: new Date() } } } }],
});

const managing = (collection: Collection<Endpoint>) => ({
  async insert(endpoint: Endpoint) {
    await collection.insertOne(endpoint);
  },
  count: (integration: string) => collection.countDocuments({ integration }),
  list: (integration: string, page: number, limit: number) =>
    collection
      .find({ integration })
      .sort({ createdAt: 1, _id: 1 })
      .skip((page - 1) * limit)
      .limit(limit)
      .toArray(),
  find: (id: string) => collection.findOne({ _id: id }),
  findOf: (integration: string, id: string) => collection.findOne({ _id: id, integration }),
  findAll: (ids: readonly string[]) => collection.find({ _id: { $in: [...ids] } }).toArray(),
  findSealedWith: (keyId: string) => collection.findOne(ofSecrets(sealedWith([keyId]))),
  findSealedWithout: (keyIds: readonly string[]) =>
    collection.findOne(ofSecrets({ $not: sealedWith(keyIds) })),
  async subscribersOf(integrations: readonly string[]) {
    const found = collection
      .find({ integration: { $in: [...integrations] } })
      // In the same order each time, so that what is fanned out again makes the same parcels.
      .sort({ _id: 1 })
      .project<VersionedSubscriber & { integration: string }>({
        integration: 1,
        events: 1,
        earlierEvents: 1,
        active: 1,
        createdAt: 1,
        disablings: { $slice: -1 },
        epoch: 1,
        eventsAfter: 1,
        version: 1,
      });
    const byIntegration = new Map<string, VersionedSubscriber[]>();
    for await (const endpoint of found) {
      const others = byIntegration.get(endpoint.integration);
      if (others === undefined) byIntegration.set(endpoint.integration, [endpoint]);
      else others.push(endpoint);
    }
    return byIntegration;
  },
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
  change: (read: Endpoint, update: UpdateFilter<Endpoint>) =>
    collection.findOneAndUpdate(asRead(read), update, { returnDocument: 'after' }),
  async remove(integration: string, id: string) {
    // One of our engines passes over a document that is being changed at that moment, and says it deleted none.
    while ((await collection.deleteOne({ _id: id, integration })).deletedCount === 0) {
      if ((await collection.findOne({ _id: id, integration }, { projection: { _id: 1 } })) === null)
        return false;
    }
    return true;
  },
});

const recording = (collection: Collection<Endpoint>) => ({
  async recordSuccess({ _id, epoch, url }: Pick<Endpoint, '_id' | 'epoch' | 'url'>) {
    const { modifiedCount } = await collection.updateOne(
      { _id, epoch, url, active: true, open: false },
      { $set: { open: true, failures: 0 } },
    );
    return modifiedCount === 1;
  },
  recordFailure: (read: Endpoint, failures: number, trials: readonly Trial[]) =>
    collection.findOneAndUpdate(
      asRead(read),
      { $set: { failures, trials: [...trials], open: false }, $inc: { mark: 1 } },
      { returnDocument: 'after' },
    ),
  disable: (read: Endpoint, reason: DisabledReason, failures: number, at: Date) =>
    collection.findOneAndUpdate(asRead(read), disabling(read, reason, failures, at), {
      returnDocument: 'after',
    }),
  unannounced: () =>
    collection
      .find({ 'unannounced.epoch': { $gte: 0 } })
      .limit(100)
      .toArray(),
  async recordAnnounced(id: string, epoch: number) {
    await collection.updateOne({ _id: id }, { $pull: { unannounced: { epoch } } });
  },
  countDisabled: () => collection.countDocuments({ disabledAt: { $gt: new Date(0) } }),
});

/** These tell whether anything has happened to an endpoint since it was read. */
const asRead = ({ _id, version, mark, failures, open, active }: Endpoint): Filter<Endpoint> => ({
  _id,
  version,
  mark,
  failures,
  open,
  active,
});

/** The one update that stops an endpoint, whoever asks for it. */
export const disabling = (
  { epoch, url }: Pick<Endpoint, 'epoch' | 'url'>,
  reason: DisabledReason,
  failures: number,
  at: Date,
) => ({
  $set: {
    active: false,
    disabledAt: at,
    disabledReason: reason,
    failures,
    open: false,
    trials: [],
  },
  $inc: { epoch: 1, mark: 1 },
  $push: {
    disablings: { $each: [{ epoch, at }], $slice: -disablingsMax },
    unannounced: {
      $each: [{ epoch, at, url, reason, consecutiveFailures: failures }],
      $slice: -disablingsMax,
    },
  },
});

const keeping = (collection: Collection<Endpoint>) => ({
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
