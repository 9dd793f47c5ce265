// Which events are for which endpoint, and for which of its periods of activity.
//
//   the endpoint now        the event                                    it is
//   ──────────────────────  ───────────────────────────────────────────  ─────────────────────────────
//   active                  occurred after it was registered or enabled  delivered
//   disabled or re-enabled  from before it was disabled, fanned out late missed, kept for a replay
//   disabled or re-enabled  from while it was disabled                   left to a replay of the events
import type { EarlierEvents, Endpoint, Subscriber } from '../endpoints/endpoint.ts';

export interface EventFacts {
  event: string;
  /** ISO time of the event. */
  timestamp: string;
  /** Its place in the event stream. */
  sequence: number;
  /** What it comes of, and has occurred with. */
  origin: string;
  /** The endpoint that it says was disabled. */
  aboutEndpoint: string | undefined;
}

/** Kinds are compared, not the integration: the caller has looked the endpoints up by it. */
export function isMeantFor(
  endpoint: Pick<Endpoint, '_id' | 'events'>,
  { event, aboutEndpoint }: Pick<EventFacts, 'event' | 'aboutEndpoint'>,
): boolean {
  // That an endpoint was disabled is news for the integration's others.
  return endpoint.events.some((kind) => kind === event) && aboutEndpoint !== endpoint._id;
}

/** The epoch under which the event goes out to the endpoint, or undefined if it does not. */
export function epochOf(endpoint: Subscriber, event: EventFacts): number | undefined {
  if (!isMeantFor({ ...endpoint, events: kindsAt(endpoint, event) }, event)) return undefined;
  if (endpoint.active && !isBefore(event, startOf(endpoint))) return endpoint.epoch;
  const last = endpoint.disablings.at(-1);
  if (last === undefined) return undefined;
  const occurredAt = Date.parse(event.timestamp);
  const whileItWasActive = occurredAt >= endpoint.createdAt.getTime() && occurredAt <= last.at.getTime();
  return whileItWasActive ? last.epoch : undefined;
}

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
