// Which events are for which endpoint.
//
//   the endpoint now        the event                                    it is
//   ──────────────────────  ───────────────────────────────────────────  ─────────────────────────────────────
//   active                  occurred after it was registered or enabled  delivered
//   disabled or re-enabled  occurred before it was disabled, and was     missed: a replay whose span has the
//                           undelivered then                             moment of disabling sends it
//   disabled or re-enabled  occurred while it was disabled               left to a replay of the events
import type { EarlierEvents, Endpoint, Subscriber } from '../endpoints/endpoint.ts';
import type { EventFacts } from '../log/event.ts';

/** Kinds are compared, not the integration: the caller has looked the endpoints up by it. */
export function isMeantFor(
  endpoint: Pick<Endpoint, '_id' | 'events'>,
  { event, aboutEndpoint }: Pick<EventFacts, 'event' | 'aboutEndpoint'>,
): boolean {
  // That an endpoint was disabled is news for the integration's others.
  return endpoint.events.some((kind) => kind === event) && aboutEndpoint !== endpoint._id;
}

/** Whether the active endpoint gets the event: it occurred after the endpoint was registered or enabled. */
export const isDelivered = (endpoint: Subscriber, event: EventFacts): boolean =>
  !isBefore(event, startOf(endpoint)) && isMeantFor({ ...endpoint, events: kindsAt(endpoint, event) }, event);

/** Whether the event is one of those that the endpoint missed by being disabled at that moment. */
export const isMissed = (endpoint: Subscriber, event: EventFacts, disabledAt: Date): boolean =>
  Date.parse(event.timestamp) <= disabledAt.getTime() &&
  Date.parse(event.timestamp) >= endpoint.createdAt.getTime() &&
  isMeantFor({ ...endpoint, events: kindsAt(endpoint, event) }, event);

/** A change of kinds holds for the events after it, and not for those before it that are fanned out late. */
const kindsAt = ({ events, earlierEvents }: Subscriber, event: EventPlace): Endpoint['events'] =>
  earlierEvents.find((earlier) => isBefore(event, earlier))?.events ?? events;

type EventPlace = Pick<EventFacts, 'sequence' | 'origin'>;

/** A cutoff as it is stored; the oldest ones know places only. */
type StoredCutoff = Pick<EarlierEvents, 'through' | 'underWay'>;

const isBefore = ({ sequence, origin }: EventPlace, { through, underWay }: StoredCutoff): boolean =>
  sequence <= through || underWay?.includes(origin) === true;

const startOf = ({ eventsAfter, eventsUnderWay = [] }: Subscriber): StoredCutoff => ({
  through: eventsAfter,
  underWay: eventsUnderWay,
});

/** Whether all of them are after each of the endpoint's cutoffs. */
export const areAfterEveryCutoff = (
  subscriber: Subscriber,
  first: number,
  origins: ReadonlySet<string>,
): boolean =>
  [startOf(subscriber), ...subscriber.earlierEvents].every(
    ({ through, underWay = [] }) => first > through && underWay.every((origin) => !origins.has(origin)),
  );
