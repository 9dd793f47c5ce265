// Which events are for which endpoint, and for which of its periods of activity.
//
//   the endpoint now        the event                                    it is
//   ──────────────────────  ───────────────────────────────────────────  ─────────────────────────────
//   active                  stored after it was registered or enabled    delivered
//   disabled or re-enabled  from before it was disabled, fanned out late missed, kept for a replay
//   disabled or re-enabled  from while it was disabled                   left to a replay of the events
import type { Endpoint } from './endpoint.ts';

export interface OccurredEvent {
  event: string;
  /** ISO time of the event. */
  timestamp: string;
  /** Its place in the event stream. */
  sequence: number;
  /** The endpoint that it says was disabled. */
  aboutEndpoint: string | undefined;
}

export type Subscriber = Pick<
  Endpoint,
  '_id' | 'events' | 'earlierEvents' | 'active' | 'createdAt' | 'disablings' | 'epoch' | 'eventsAfter'
>;

/** Kinds are compared, not the integration: whoever asks has looked the endpoints up by it. */
export function isMeantFor(
  endpoint: Pick<Endpoint, '_id' | 'events'>,
  { event, aboutEndpoint }: Pick<OccurredEvent, 'event' | 'aboutEndpoint'>,
): boolean {
  // That an endpoint was disabled is news for the integration's others.
  return endpoint.events.some((kind) => kind === event) && aboutEndpoint !== endpoint._id;
}

/** The epoch under which the event goes out to the endpoint, or undefined if it does not. */
export function epochOf(endpoint: Subscriber, event: OccurredEvent): number | undefined {
  if (!isMeantFor({ ...endpoint, events: kindsAt(endpoint, event.sequence) }, event)) return undefined;
  if (endpoint.active && event.sequence > endpoint.eventsAfter) return endpoint.epoch;
  const last = endpoint.disablings.at(-1);
  if (last === undefined) return undefined;
  const occurredAt = Date.parse(event.timestamp);
  const whileItWasActive = occurredAt >= endpoint.createdAt.getTime() && occurredAt <= last.at.getTime();
  return whileItWasActive ? last.epoch : undefined;
}

/** A change of kinds holds for the events after it, and not for those before it that are fanned out late. */
const kindsAt = ({ events, earlierEvents }: Subscriber, sequence: number): Endpoint['events'] =>
  earlierEvents.find(({ through }) => sequence <= through)?.events ?? events;
