// How deliveries travel through the streams. The bodies are the events' own bytes, made once by whoever announced
// them.
//
//   stream      subject                                    a message                        its id
//   ──────────  ─────────────────────────────────────────  ───────────────────────────────  ──────────────────────────────
//   DELIVERIES  deliveries.<endpoint>.<epoch>.<version>    a parcel: up to 64 events for    made of its events, endpoint
//                                                          one endpoint                     and sending
//   HELD        held.<endpoint>.<epoch>                    one event for one endpoint       <event>.<endpoint>.<sending>
//                                                                                           .<attempts>.<due>
//   ATTEMPTS    attempts.<endpoint>                        up to 16 entries of the log      any
//
// The ids make doubles harmless: a stream takes each one once. `sending` is 0 for the first time that an event
// goes to an endpoint, and a replay's own id after that. No part holds a dot: ids of events and endpoints do not.
// Parcels are what makes a burst cheap: taking a message from a stream and settling it costs a third of a delivery.

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

export interface Message {
  subject: string;
  id: string;
  body: Uint8Array;
}

export interface Occurrence {
  eventId: string;
  body: Uint8Array;
}

export type Addressee = Pick<Delivery, 'endpointId' | 'epoch' | 'version' | 'sending'>;

export const firstSending = '0';
const parcelEventsMax = 64;
const parcelBytesMax = 256 * 1024;
const lineBreak = 0x0a;

/** The events for one endpoint, in parcels. */
export function* packParcels(to: Addressee, events: Iterable<Occurrence>): Generator<Message> {
  let parcel: Occurrence[] = [];
  let bytes = 0;
  for (const event of events) {
    const isFull = parcel.length >= parcelEventsMax || bytes + event.body.length > parcelBytesMax;
    if (isFull && parcel.length > 0) {
      yield packParcel(to, parcel);
      parcel = [];
      bytes = 0;
    }
    parcel.push(event);
    bytes += event.body.length;
  }
  if (parcel.length > 0) yield packParcel(to, parcel);
}

/** One line that names the events and says how long each is, and then their bytes. */
function packParcel(
  { endpointId, epoch, version, sending }: Addressee,
  events: readonly Occurrence[],
): Message {
  const head = [sending, ...events.flatMap(({ eventId, body }) => [eventId, body.length])];
  const ends = [events[0]?.eventId, events.at(-1)?.eventId];
  return {
    subject: `deliveries.${endpointId}.${epoch}.${version}`,
    id: [...ends, events.length, endpointId, sending].join('.'),
    body: Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), ...events.map(({ body }) => body)]),
  };
}

/** What a message of DELIVERIES brings; nothing, if it is none of ours. */
export function unpackParcel({ subject, body }: Omit<Message, 'id'>): Delivery[] {
  const [, endpointId, epoch, version] = subject.split('.');
  const headEnd = body.indexOf(lineBreak);
  if (endpointId === undefined || version === undefined || headEnd < 0) return [];
  const head: unknown = JSON.parse(textOf(body, 0, headEnd));
  if (!Array.isArray(head)) return [];
  const [sending, ...parts]: unknown[] = head;
  const deliveries: Delivery[] = [];
  let from = headEnd + 1;
  for (let n = 0; n + 1 < parts.length; n += 2) {
    const eventId = String(parts[n]);
    const to = from + Number(parts[n + 1]);
    deliveries.push({
      endpointId,
      epoch: Number(epoch),
      version: Number(version),
      eventId,
      sending: String(sending),
      attempts: 0,
      dueAtMs: 0,
      body: body.subarray(from, to),
    });
    from = to;
  }
  return deliveries;
}

export const heldSubject = (endpointId: string, epoch: number): string => `held.${endpointId}.${epoch}`;

export const heldId = ({ eventId, endpointId, sending, attempts, dueAtMs }: Delivery): string =>
  `${eventId}.${endpointId}.${sending}.${attempts}.${dueAtMs}`;

/** Undefined for one that is none of ours. */
export function readHeld({ subject, id, body }: Message): Delivery | undefined {
  const [, endpointId, epoch] = subject.split('.');
  const [eventId, , sending, attempts, dueAtMs] = id.split('.');
  if (endpointId === undefined || epoch === undefined) return undefined;
  if (!eventId || sending === undefined || dueAtMs === undefined) return undefined;
  return {
    endpointId,
    epoch: Number(epoch),
    // Whoever delivers what is held has read the endpoint for it.
    version: 0,
    eventId,
    sending,
    attempts: Number(attempts),
    dueAtMs: Number(dueAtMs),
    body,
  };
}

export const attemptsSubject = (endpointId: string): string => `attempts.${endpointId}`;

/** Everything of one endpoint, whatever its epoch. */
export const subjectsOf = (endpointId: string) => ({
  deliveries: `deliveries.${endpointId}.>`,
  held: `held.${endpointId}.*`,
  attempts: attemptsSubject(endpointId),
});

/** Of one that has ended, if it was not yet set aside. */
export const deliveriesOfEpoch = (endpointId: string, epoch: number): string =>
  `deliveries.${endpointId}.${epoch}.*`;

export interface EventHead {
  event: string;
  timestamp: string;
}

/** As our own services write an event, so that a delivery need not parse the whole of it. */
const usualHead = /^\{"event":"([\w.]+)","timestamp":"([\w.:+-]+)",/;
const usualHeadBytesMax = 128;

/** What an event says of itself first, or undefined where the bytes are no event. */
export function readEventHead(body: Uint8Array): EventHead | undefined {
  const [, event, timestamp] = usualHead.exec(textOf(body, 0, usualHeadBytesMax)) ?? [];
  return event === undefined || timestamp === undefined ? readEvent(body) : { event, timestamp };
}

export function readEvent(body: Uint8Array): (EventHead & { data: unknown }) | undefined {
  try {
    const parsed: unknown = JSON.parse(textOf(body, 0, body.length));
    if (typeof parsed !== 'object' || parsed === null) return undefined;
    if (!('event' in parsed && 'timestamp' in parsed)) return undefined;
    const { event, timestamp } = parsed;
    if (typeof event !== 'string' || typeof timestamp !== 'string') return undefined;
    return { event, timestamp, data: 'data' in parsed ? parsed.data : undefined };
  } catch {
    return undefined;
  }
}

const textOf = (bytes: Uint8Array, from: number, to: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8', from, to);
