// Who subscribes, for the fan-out: remembered, and asked about all the same with one look-up per batch of events.
// What is looked up is small: each integration has a revision, which every change of its endpoints replaces before
// it is answered. Where the revision is the one that the endpoints were read under, they are as they were; so a
// change that was answered holds for every event that occurs afterwards, in every replica, and a thousand
// endpoints cost a batch no more than one does.
import { LRUCache } from 'lru-cache';
import type { VersionedSubscriber } from '../endpoints/endpoint.ts';
import type { Revision, Revisions } from '../endpoints/revisions.ts';
import type { Endpoints } from '../endpoints/store.ts';

export interface Subscribers {
  of(integrations: readonly string[]): Promise<ReadonlyMap<string, readonly VersionedSubscriber[]>>;
}

interface Entry {
  revision: string;
  subscribers: readonly VersionedSubscriber[];
}

/** A change that was made and never answered, because its replica died, is noticed after this. */
const keptMs = 30_000;

export function openSubscribers(
  revisions: Pick<Revisions, 'of'>,
  endpoints: Pick<Endpoints, 'subscribersOf'>,
  /** Subscriptions that are remembered. */
  weightMax = 100_000,
): Subscribers {
  const entries = new LRUCache<string, Entry>({
    maxSize: weightMax,
    sizeCalculation: weightOf,
    ttl: keptMs,
    ttlResolution: 0,
  });

  const recall = (integration: string, revision: string): Entry | undefined => {
    const entry = entries.get(integration);
    return entry?.revision === revision ? entry : undefined;
  };

  return {
    async of(integrations) {
      const found = await revisions.of(integrations);
      const known = new Map<string, readonly VersionedSubscriber[]>();
      const unknown: Revision[] = [];
      // An integration without a revision has never had an endpoint.
      for (const one of found) {
        const entry = recall(one._id, one.revision);
        if (entry === undefined) unknown.push(one);
        else known.set(one._id, entry.subscribers);
      }
      if (unknown.length === 0) return known;
      const read = await endpoints.subscribersOf(unknown.map(({ _id }) => _id));
      for (const { _id, revision } of unknown) {
        const subscribers = read.get(_id) ?? [];
        entries.set(_id, { revision, subscribers });
        known.set(_id, subscribers);
      }
      return known;
    },
  };
}

/** An integration that has no endpoint any more takes room, too; and so does what was under way when one changed. */
const weightOf = ({ subscribers }: Entry): number =>
  subscribers.reduce((sum, one) => sum + 1 + underWayOf(one), 1);

const underWayOf = ({ eventsUnderWay = [], earlierEvents }: VersionedSubscriber): number =>
  earlierEvents.reduce((sum, { underWay = [] }) => sum + underWay.length, eventsUnderWay.length);
