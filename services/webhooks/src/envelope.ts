// How a delivery travels through the streams: what must be known of it stands in the subject and in the message's
// id, and the body is the event's own bytes, made once by whoever announced it.
//
//   stream      subject                                        message id
//   ──────────  ─────────────────────────────────────────────  ─────────────────────────────────────────────────
//   DELIVERIES  deliveries.<endpoint>.<epoch>.<version>        <event>.<endpoint>.<sending>
//   HELD        held.<endpoint>.<epoch>                        <event>.<endpoint>.<sending>.<attempts>.<due>
//   ATTEMPTS    attempts.<endpoint>                            any
//
// The id makes doubles harmless: a stream takes each one once. `sending` is 0 for the first time that an event
// goes to an endpoint, and a replay's own id after that. No part holds a dot: ids of events and endpoints do not.

export interface Delivery {
  endpointId: string;
  /** How often the endpoint had been disabled when this was meant for it. An older one's deliveries are missed. */
  epoch: number;
  /** The endpoint as it was when the event was fanned out; a cached older one will not do. */
  version: number;
  eventId: string;
  sending: string;
  /** How many of its four attempts it has used up. */
  attempts: number;
  /** Not to be tried before; epoch milliseconds, 0 for at once. */
  dueAtMs: number;
  body: Uint8Array;
}

export const firstSending = '0';

export const deliveriesSubject = ({ endpointId, epoch, version }: Delivery): string =>
  `deliveries.${endpointId}.${epoch}.${version}`;

export const deliveriesId = ({ eventId, endpointId, sending }: Delivery): string =>
  `${eventId}.${endpointId}.${sending}`;

export const heldSubject = (endpointId: string, epoch: number): string => `held.${endpointId}.${epoch}`;

export const heldId = (delivery: Delivery): string =>
  `${deliveriesId(delivery)}.${delivery.attempts}.${delivery.dueAtMs}`;

export const attemptsSubject = (endpointId: string): string => `attempts.${endpointId}`;

/** Everything of one endpoint, whatever its epoch. */
export const subjectsOf = (endpointId: string) => ({
  deliveries: `deliveries.${endpointId}.>`,
  held: `held.${endpointId}.*`,
  attempts: attemptsSubject(endpointId),
});

export interface Message {
  subject: string;
  id: string;
  body: Uint8Array;
}

/** Reads a message of either stream; undefined for one that is none of ours. */
export function readDelivery({ subject, id, body }: Message): Delivery | undefined {
  const [, endpointId, epoch, version] = subject.split('.');
  const [eventId, , sending, attempts, dueAtMs] = id.split('.');
  if (endpointId === undefined || epoch === undefined || !eventId || sending === undefined) return undefined;
  return {
    endpointId,
    epoch: Number(epoch),
    version: Number(version ?? 0),
    eventId,
    sending,
    attempts: Number(attempts ?? 0),
    dueAtMs: Number(dueAtMs ?? 0),
    body,
  };
}

export interface EventHead {
  event: string;
  timestamp: string;
}

const decoder = new TextDecoder();

/** What an event says of itself, or undefined where the bytes are no event. */
export function readEventHead(body: Uint8Array): (EventHead & { data: unknown }) | undefined {
  try {
    const parsed: unknown = JSON.parse(decoder.decode(body));
    if (typeof parsed !== 'object' || parsed === null) return undefined;
    if (!('event' in parsed && 'timestamp' in parsed)) return undefined;
    const { event, timestamp } = parsed;
    if (typeof event !== 'string' || typeof timestamp !== 'string') return undefined;
    return { event, timestamp, data: 'data' in parsed ? parsed.data : undefined };
  } catch {
    return undefined;
  }
}
