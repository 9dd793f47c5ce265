// Which events of a batch are for which endpoint. Most endpoints of an integration subscribe to one of a few sets of kinds,
// and have done so for long: these share the answer.
import type { Subscriber } from '../endpoints/endpoint.ts';
import type { StreamEvent } from '../log/event.ts';
import { areAfterEveryCutoff, isDelivered, isMeantFor } from './subscription.ts';

/** What this file needs of an event batch. */
interface MatchedBatch {
  /** The endpoint that alone gets it. */
  readonly endpointId: string | undefined;
  events(): readonly StreamEvent[];
}

/** Indexes of the events that the endpoint is to get, in their order. */
export type Match = (batch: MatchedBatch, subscriber: Subscriber) => readonly number[];

interface Known {
  origins: ReadonlySet<string>;
  firstSequence: number;
  concernsEndpoints: boolean;
  byKinds: Map<string, readonly number[]>;
}

export function openMatch(): Match {
  const known = new WeakMap<MatchedBatch, Known>();

  const knownOf = (batch: MatchedBatch): Known => {
    const before = known.get(batch);
    if (before !== undefined) return before;
    const events = batch.events();
    const made = {
      origins: new Set(events.map(({ origin }) => origin)),
      firstSequence: events[0]?.sequence ?? 0,
      concernsEndpoints: events.some(({ aboutEndpoint }) => aboutEndpoint !== undefined),
      byKinds: new Map<string, readonly number[]>(),
    };
    known.set(batch, made);
    return made;
  };

  return (batch, subscriber) => {
    if (!subscriber.active) return none;
    if (batch.endpointId !== undefined) {
      return batch.endpointId === subscriber._id ? batch.events().map((_, index) => index) : none;
    }
    const { origins, firstSequence, concernsEndpoints, byKinds } = knownOf(batch);
    if (concernsEndpoints || !areAfterEveryCutoff(subscriber, firstSequence, origins)) {
      return indexesWhere(batch, (event) => isDelivered(subscriber, event));
    }
    const key = subscriber.events.join();
    const alike = byKinds.get(key) ?? indexesWhere(batch, (event) => isMeantFor(subscriber, event));
    byKinds.set(key, alike);
    return alike;
  };
}

const none: readonly number[] = [];

const indexesWhere = (batch: MatchedBatch, isWanted: (event: StreamEvent) => boolean): number[] =>
  batch.events().flatMap((event, index) => (isWanted(event) ? [index] : []));
