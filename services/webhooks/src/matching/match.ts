// Decides which events an endpoint gets.
//
//   the endpoint now        when the event occurred                      what happens to the event
//   ──────────────────────  ───────────────────────────────────────────  ─────────────────────────────────────
//   active                  after it was registered or enabled           is delivered
//   disabled or re-enabled  before it was disabled, and the event was    is missed: a recovery sends it, or a replay
//                           undelivered then                             whose span contains the disabling
//   disabled or re-enabled  while it was disabled                        a replay sends it, if its span has the event
//
// Most endpoints of an integration subscribe to one of a few sets of kinds of events, and have all their cutoffs before the event
// batch. Endpoints with the same set share the result of matching the batch.
import type { EarlierEvents, Endpoint, Subscriber } from '../endpoints/endpoint.ts';
import { clockMarginMs, type EventFacts, type LoggedBatch, type StreamEvent } from '../log/logged-batch.ts';

type MatchedBatch = Pick<LoggedBatch, 'endpointId' | 'events'>;

/** Returns the indexes of the batch's events that the endpoint gets, in order. */
export type Match = (batch: MatchedBatch, subscriber: Subscriber) => readonly number[];

export function openMatch(): Match {
  const known = new WeakMap<MatchedBatch, ReturnType<typeof factsOf>>();

  return (batch, subscriber) => {
    if (!subscriber.active) return none;
    if (batch.endpointId !== undefined) {
      return batch.endpointId === subscriber._id ? batch.events().map((_, index) => index) : none;
    }
    const { origins, firstSequence, concernsEndpoints, byKinds } = known.getOrInsertComputed(batch, factsOf);
    if (concernsEndpoints || !areAfterEveryCutoff(subscriber, firstSequence, origins)) {
      return indexesWhere(batch, (event) => isDelivered(subscriber, event));
    }
    const key = subscriber.events.join();
    return byKinds.getOrInsertComputed(key, () =>
      indexesWhere(batch, (event) => isMeantFor(subscriber, event)),
    );
  };
}

const none: readonly number[] = [];

function factsOf(batch: MatchedBatch) {
  const events = batch.events();
  return {
    origins: new Set(events.map(({ origin }) => origin)),
    firstSequence: events[0]?.sequence ?? 0,
    concernsEndpoints: events.some(({ aboutEndpoint }) => aboutEndpoint !== undefined),
    byKinds: new Map<string, readonly number[]>(),
  };
}

const indexesWhere = (batch: MatchedBatch, isWanted: (event: StreamEvent) => boolean): number[] =>
  batch.events().flatMap((event, index) => (isWanted(event) ? [index] : []));

/** Integrations are not compared: the endpoint was looked up by the integration of the event. */
export function isMeantFor(
  endpoint: Pick<Endpoint, '_id' | 'events'>,
  { event, aboutEndpoint }: Pick<EventFacts, 'event' | 'aboutEndpoint'>,
): boolean {
  // `webhook.disabled` is not sent to the disabled endpoint, but to the other endpoints of the integration.
  return endpoint.events.some((kind) => kind === event) && aboutEndpoint !== endpoint._id;
}

/** Whether the active endpoint gets the event, which must have occurred after the endpoint was registered or enabled. */
export const isDelivered = (endpoint: Subscriber, event: EventFacts): boolean =>
  !isBefore(event, startOf(endpoint)) && isMeantFor({ ...endpoint, events: kindsAt(endpoint, event) }, event);

/** Whether the endpoint may have missed the event when it was disabled at `disabledAt`. */
export const isMissed = (endpoint: Subscriber, event: EventFacts, disabledAt: Date): boolean =>
  Date.parse(event.timestamp) <= disabledAt.getTime() &&
  Date.parse(event.timestamp) > endpoint.createdAt.getTime() - clockMarginMs &&
  isMeantFor({ ...endpoint, events: kindsAt(endpoint, event) }, event);

const kindsAt = ({ events, earlierEvents }: Subscriber, event: EventOrigin): Endpoint['events'] =>
  earlierEvents.find((earlier) => isBefore(event, earlier))?.events ?? events;

type EventOrigin = Pick<EventFacts, 'sequence' | 'origin'>;

/** A cutoff as it is stored; old releases stored no `underWay`. */
type StoredCutoff = Pick<EarlierEvents, 'through' | 'underWay'>;

const isBefore = ({ sequence, origin }: EventOrigin, { through, underWay }: StoredCutoff): boolean =>
  sequence <= through || underWay?.includes(origin) === true;

const startOf = ({ eventsAfter, eventsUnderWay = [] }: Subscriber): StoredCutoff => ({
  through: eventsAfter,
  underWay: eventsUnderWay,
});

const areAfterEveryCutoff = (subscriber: Subscriber, first: number, origins: ReadonlySet<string>): boolean =>
  [startOf(subscriber), ...subscriber.earlierEvents].every(
    ({ through, underWay = [] }) => first > through && underWay.every((origin) => !origins.has(origin)),
  );
