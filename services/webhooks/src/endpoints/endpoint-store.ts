// The endpoints in MongoDB. Every rule that concurrent replicas could violate is a condition in the filter of one update.
import { randomUUID } from 'node:crypto';
import {
  type Collection,
  type Filter,
  isFirst,
  isFound,
  type Store,
  type UpdateFilter,
} from '@integration-sync/runtime/store';
import {
  type DisabledReason,
  disablingsMax,
  type Endpoint,
  type Missed,
  type Subscriber,
  subscriberFields,
  type Trial,
} from './endpoint.ts';
import { firstTest, recovering } from './recovery.ts';

export const endpointsCollection = 'webhook_endpoints';

/** A method with a parameter `read` resolves with null if the endpoint has changed since it was read. */
export type Endpoints = Awaited<ReturnType<typeof openEndpoints>>;

export async function openEndpoints(store: Store) {
  await store.ensureIndexes(endpointsCollection, [
    { name: 'listing', key: { integration: 1, createdAt: 1, _id: 1 } },
    { name: 'unannounced', key: { 'unannounced.epoch': 1 }, sparse: true },
    { name: 'disabled', key: { disabledAt: 1 } },
    { name: 'recovery', key: { 'recovery.dueAt': 1 }, sparse: true },
  ]);
  const collection = store.collection<Endpoint>(endpointsCollection);
  return {
    ...managing(collection),
    ...correcting(collection),
    ...recording(collection),
    ...recovering(collection),
  };
}

/** One batch answers most queries: for a second batch FerretDB keeps a connection to PostgreSQL for the cursor alone. */
const batchSize = 1_000;

type Listed = Pick<Endpoint, '_id' | 'createdAt'>;

const later = ({ _id, createdAt }: Listed): Filter<Endpoint> => ({
  $or: [{ createdAt: { $gt: createdAt } }, { createdAt, _id: { $gt: _id } }],
});

const managing = (collection: Collection<Endpoint>) => ({
  async insert(endpoint: Endpoint) {
    await collection.insertOne(endpoint);
  },
  count: (integration: string) => collection.countDocuments({ integration }),
  list: (
    integration: string,
    { after, skip, limit }: { after: Listed | undefined; skip: number; limit: number },
  ) =>
    collection
      .find({ integration, ...(after === undefined ? {} : later(after)) })
      .sort({ createdAt: 1, _id: 1 })
      .skip(skip)
      .limit(limit)
      .toArray(),
  find: (id: string) => collection.findOne({ _id: id }),
  findOf: (integration: string, id: string) => collection.findOne({ _id: id, integration }),
  findAll: (ids: readonly string[]) => collection.find({ _id: { $in: [...ids] } }, { batchSize }).toArray(),
  async subscribersOf(integrations: readonly string[]): Promise<Map<string, Subscriber[]>> {
    const found = collection
      .find({ integration: { $in: [...integrations] } }, { batchSize })
      .project<Subscriber & { integration: string }>({ integration: 1, ...subscriberFields });
    return Map.groupBy(await found.toArray(), ({ integration }) => integration);
  },
  change: (read: Endpoint, update: UpdateFilter<Endpoint>) =>
    collection.findOneAndUpdate({ ...asRead(read), 'recovery.step': read.recovery?.step ?? null }, update, {
      returnDocument: 'after',
    }),
  /** Reserves the endpoint for one replay. False while another replay of the endpoint is being stored. */
  async beginReplay(id: string, replaying: Required<Endpoint>['replaying']) {
    const free: Filter<Endpoint>[] = [
      { replaying: { $exists: false } },
      { 'replaying.until': { $lt: new Date() } },
    ];
    return isFound(collection.updateOne({ _id: id, $or: free }, { $set: { replaying } }));
  },
  async endReplay(id: string, by: string) {
    await collection.updateOne({ _id: id, 'replaying.by': by }, { $unset: { replaying: 1 } });
  },
  /** Notes the begin of a drill. False if another drill of the endpoint began after `before`. */
  async beginDrill(id: string, at: Date, before: Date) {
    const rested: Filter<Endpoint>[] = [{ drilledAt: { $exists: false } }, { drilledAt: { $lte: before } }];
    return isFound(collection.updateOne({ _id: id, $or: rested }, { $set: { drilledAt: at } }));
  },
  async remove(integration: string, id: string) {
    // Deletes again while the endpoint exists: one of the databases skips a document that another operation is changing.
    while ((await collection.deleteOne({ _id: id, integration })).deletedCount === 0) {
      if ((await collection.findOne({ _id: id, integration }, { projection: { _id: 1 } })) === null)
        return false;
    }
    return true;
  },
});

/** Corrects the stored sequences of EVENTS, after the stream was lost or restored from an older copy. */
const correcting = (collection: Collection<Endpoint>) => ({
  /** The greatest sequence of EVENTS that any endpoint stores. */
  async lastSequence() {
    const found = await Promise.all(
      ['eventsAfter', 'earlierEvents.through'].map((field) =>
        collection.find().sort(field, -1).limit(1).toArray(),
      ),
    );
    const stored = found
      .flat()
      .flatMap(({ eventsAfter, earlierEvents }) =>
        [eventsAfter].concat(earlierEvents.map(({ through }) => through)),
      );
    return Math.max(0, ...stored);
  },
  /** Lowers the sequences of EVENTS in endpoints that `ahead` matches to `end`. Resolves with the endpoints' integrations. */
  async lowerSequences(
    end: number,
    ahead: Filter<Endpoint> = {
      $or: [{ eventsAfter: { $gt: end } }, { 'earlierEvents.through': { $gt: end } }],
    },
  ) {
    const integrations = await collection.distinct('integration', ahead);
    await collection.updateMany(ahead, {
      $min: { eventsAfter: end },
      $pull: { earlierEvents: { through: { $gt: end } } },
      $inc: { version: 1 },
    });
    return integrations;
  },
});

/** How many endpoints one query reads. More endpoints have unpublished `webhook.disabled` events only after an outage of NATS. */
const unannouncedMax = 500;

const recording = (collection: Collection<Endpoint>) => ({
  /** Stores a delivery state. False if the endpoint in MongoDB differs from the version that the owner has applied. */
  async recordState(applied: Applied, { failures, isCircuitClosed, trials }: Counted): Promise<boolean> {
    const { term } = applied;
    const $set = { failures, open: isCircuitClosed, trials: [...trials], term };
    return isFound(collection.updateOne(asApplied(applied), { $set }));
  },
  /** Disables an endpoint. False if the endpoint in MongoDB differs from the version that the owner has applied. */
  async disable(applied: Applied, how: Disabling): Promise<boolean> {
    const read = await collection.findOne(asApplied(applied));
    if (read === null) return false;
    const { $set, $inc, ...more } = disabling(read, how);
    const update = { ...more, $set: { ...$set, term: applied.term }, $inc: { ...$inc, version: 1 } };
    return isFound(collection.updateOne(asApplied(applied), update));
  },
  /** Stores missed events, and replaces those that an earlier owner has stored, but not those of a later owner. */
  async recordMissed(id: string, epoch: number, missed: Required<Missed>) {
    const field = `missed.${epoch}`;
    const open: Filter<Endpoint>[] = [{ [field]: null }, { [`${field}.term`]: { $lte: missed.term } }];
    await collection.updateOne({ _id: id, $or: open }, { $set: { [field]: missed } });
  },
  unannounced: () =>
    collection
      .find({ 'unannounced.epoch': { $gte: 0 } })
      .limit(100)
      .toArray(),
  unannouncedOf: (integration: string) =>
    collection
      .find({ integration, 'unannounced.epoch': { $gte: 0 } })
      .hint('unannounced')
      .project<Pick<Endpoint, '_id' | 'unannounced'>>({ unannounced: 1 })
      .limit(unannouncedMax)
      .toArray(),
  async recordAnnounced(id: string, epoch: number) {
    await collection.updateOne({ _id: id }, { $pull: { unannounced: { epoch } } });
  },
  countDisabled: () => collection.countDocuments({ disabledAt: { $gt: new Date(0) } }),
});

/** Matches the endpoint only if its configuration has not changed since it was read. */
const asRead = ({ _id, version, epoch }: Pick<Endpoint, '_id' | 'version' | 'epoch'>): Filter<Endpoint> => ({
  _id,
  version,
  epoch,
});

type Applied = Pick<Endpoint, '_id' | 'version' | 'epoch'> & { term: number };

interface Counted extends Pick<Endpoint, 'failures'> {
  isCircuitClosed: boolean;
  trials: readonly Trial[];
}

/** Matches the endpoint only if its owner has applied the stored configuration, and no later owner has stored a change. */
const asApplied = ({ term, ...applied }: Applied): Filter<Endpoint> => ({
  ...asRead(applied),
  active: true,
  term: { $not: { $gt: term } },
});

interface Disabling {
  reason: DisabledReason;
  failures: number;
  at: Date;
  /** The missed events; null if the owner stores them later. */
  missed: Missed | null;
}

export function disabling(
  { epoch, url, recover, recovery: before }: Endpoint,
  { reason, failures, at, missed }: Disabling,
) {
  const recovery = reason === 'failures' && recover === true ? firstTest(at, at, before?.since) : undefined;
  const unset = {
    ...(epoch < disablingsMax ? {} : { [`missed.${epoch - disablingsMax}`]: 1 as const }),
    // A disabling removes the recovery step `send`. Otherwise the step would send old events once a caller enables the endpoint.
    ...(recovery === undefined ? { recovery: 1 as const } : {}),
  };
  return {
    $set: {
      active: false,
      disabledAt: at,
      disabledReason: reason,
      failures,
      open: false,
      trials: [],
      [`missed.${epoch}`]: missed,
      ...(recovery === undefined ? {} : { recovery }),
    },
    ...(Object.keys(unset).length === 0 ? {} : { $unset: unset }),
    $inc: { epoch: 1, mark: 1 },
    $push: {
      disablings: { $each: [{ epoch, at }], $slice: -disablingsMax },
      unannounced: {
        $each: [{ epoch, at, url, reason, consecutiveFailures: failures }],
        $slice: -disablingsMax,
      },
    },
  };
}

/** A change of an endpoint replaces the revision of its integration before the caller gets the answer. */
interface Revision {
  /** The integration. */
  _id: string;
  revision: string;
  /** How many bytes the integration's replays have added to the log, on the day of its last replay. */
  replayed?: { day: string; bytes: number };
}

export type Revisions = ReturnType<typeof openRevisions>;

export const revisionsCollection = 'webhook_revisions';

export function openRevisions(store: Store) {
  const revisions = store.collection<Revision>(revisionsCollection);
  return {
    of: (integrations: readonly string[]) => revisions.find({ _id: { $in: [...integrations] } }).toArray(),
    async changed(integration: string): Promise<void> {
      const revision = randomUUID();
      const replace = () => revisions.updateOne({ _id: integration }, { $set: { revision } });
      if (await isFound(replace())) return;
      if (!(await isFirst(revisions.insertOne({ _id: integration, revision })))) await replace();
    },
    /** Counts bytes that a replay adds to the log. False, without counting, if the bytes of the day would exceed `max`. */
    async countReplayed(integration: string, bytes: number, max: number): Promise<boolean> {
      const day = new Date().toISOString().slice(0, 10);
      await revisions.updateOne(
        { _id: integration, 'replayed.day': { $ne: day } },
        { $set: { replayed: { day, bytes: 0 } } },
      );
      return isFound(
        revisions.updateOne(
          { _id: integration, 'replayed.day': day, 'replayed.bytes': { $lte: max - bytes } },
          { $inc: { 'replayed.bytes': bytes } },
        ),
      );
    },
  };
}
