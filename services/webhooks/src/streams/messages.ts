// How deliveries travel through the streams. The bodies are the events' own bytes, made once by the service that
// announced them.
//
//   stream      subject                    a message                              its id
//   ──────────  ─────────────────────────  ─────────────────────────────────────  ─────────────────────────────────
//   DELIVERIES  deliveries.<integration>   a parcel: some events, each for each   a hash of its events, endpoints
//                                          of some endpoints, 64 deliveries       and sending
//               deliveries.<integration>   the same, up to 512 deliveries, of an  the same
//               .backlog                   integration that has enough waiting
//   HELD        held.<endpoint>.<epoch>    one event for one endpoint             <event>.<endpoint>.<sending>
//                                                                                 .<attempts>.<due>
//   ATTEMPTS    attempts.<endpoint>        up to 16 entries of the log            any
//
// The ids make doubles harmless: a stream takes each one once. `sending` is 0 for the first time that an event
// goes to an endpoint, and a replay's own id after that. No part holds a dot: ids of events and endpoints do not.
// Parcels are what makes a burst cheap, be it of events or of endpoints: storing a message, taking it and removing
// it costs more than a delivery does.
import { hash } from 'node:crypto';
import { deliveriesSubject, type Way } from './subjects.ts';
import { packTraces, unpackTraces, type PackedTraces } from './traces.ts';

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
  /** Of the step from which the event comes, where that belongs to a trace. */
  traceparent?: string | undefined;
}

export interface Message {
  subject: string;
  id: string;
  body: Uint8Array;
  traceparent?: string | undefined;
}

export interface RawEvent {
  eventId: string;
  body: Uint8Array;
  traceparent?: string | undefined;
}

export type Addressee = Pick<Delivery, 'endpointId' | 'epoch' | 'version'>;

/** Every one of the events is for every one of the endpoints. */
export interface PackOptions {
  integration: string;
  sending: string;
  to: readonly Addressee[];
  events: readonly RawEvent[];
}

export const firstSending = '0';
/** What is in one parcel is settled together, so a replica that dies with it has so many done again. */
const deliveriesMax: Readonly<Record<Way, number>> = { shared: 64, backlog: 512 };
const parcelPartsMax = 64;
const parcelBytesMax = 256 * 1024;
const lineBreak = 0x0a;

export function* packParcels(options: PackOptions, way: Way): Generator<Message> {
  const { to, events } = options;
  const addresseesMax = Math.max(1, Math.min(to.length, parcelPartsMax));
  const eventsMax = Math.min(Math.floor(deliveriesMax[way] / addresseesMax), parcelPartsMax);
  for (const some of chunksOf(events, eventsMax)) {
    for (let from = 0; from < to.length; from += addresseesMax) {
      yield packParcel({ ...options, to: to.slice(from, from + addresseesMax), events: some }, way);
    }
  }
}

function* chunksOf(events: readonly RawEvent[], max: number): Generator<readonly RawEvent[]> {
  let chunk: RawEvent[] = [];
  let bytes = 0;
  for (const event of events) {
    if (chunk.length > 0 && (chunk.length >= max || bytes + event.body.length > parcelBytesMax)) {
      yield chunk;
      chunk = [];
      bytes = 0;
    }
    chunk.push(event);
    bytes += event.body.length;
  }
  if (chunk.length > 0) yield chunk;
}

type Head = [
  sending: string,
  to: [endpointId: string, epoch: number, version: number][],
  events: [eventId: string, bytes: number][],
  /** Left out where no event belongs to a trace. */
  traces?: PackedTraces,
];

/**
 * One line that names endpoints and events and says how long each event is, and then their bytes. A release that knows no
 * traces reads over them.
 */
function packParcel({ integration, sending, to, events }: PackOptions, way: Way): Message {
  const head: Head = [
    sending,
    to.map(({ endpointId, epoch, version }) => [endpointId, epoch, version]),
    events.map(({ eventId, body }) => [eventId, body.length]),
  ];
  const traces = packTraces(events);
  if (traces !== undefined) head.push(traces);
  return {
    subject: deliveriesSubject(integration, way),
    id: idOf(sending, to, events),
    body: Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), ...events.map(({ body }) => body)]),
  };
}

/** The endpoints as they are otherwise, changed since or not, make no other parcel. */
const idOf = (sending: string, to: readonly Addressee[], events: readonly RawEvent[]): string =>
  hash(
    'sha256',
    JSON.stringify([sending, to.map(({ endpointId }) => endpointId), events.map(({ eventId }) => eventId)]),
  );

/** What a message of DELIVERIES brings, those of one endpoint together; nothing, if it is none of ours. */
export function unpackParcel({ body }: Pick<Message, 'body'>): Delivery[] {
  const headEnd = body.indexOf(lineBreak);
  const head = headEnd < 0 ? undefined : readHead(textOf(body, 0, headEnd));
  if (head === undefined) return [];
  const [sending, to, parts, traces] = head;
  const traceparents = unpackTraces(traces);
  let from = headEnd + 1;
  const events = parts.map(([eventId, bytes], index) => {
    const event = { eventId, body: body.subarray(from, from + bytes), traceparent: traceparents[index] };
    from += bytes;
    return event;
  });
  return to.flatMap(([endpointId, epoch, version]) =>
    events.map(({ eventId, body: bytes, traceparent }) => ({
      endpointId,
      epoch,
      version,
      eventId,
      sending,
      attempts: 0,
      dueAtMs: 0,
      body: bytes,
      traceparent,
    })),
  );
}

/** Undefined for one that `packParcel` has not written. */
function readHead(text: string): Head | undefined {
  try {
    const head: Head = JSON.parse(text);
    return Array.isArray(head) && Array.isArray(head[1]) && Array.isArray(head[2]) ? head : undefined;
  } catch {
    return undefined;
  }
}

export const heldSubject = (endpointId: string, epoch: number): string => `held.${endpointId}.${epoch}`;

export const heldId = ({ eventId, endpointId, sending, attempts, dueAtMs }: Delivery): string =>
  `${eventId}.${endpointId}.${sending}.${attempts}.${dueAtMs}`;

/** Undefined for one that this service did not write. */
export function readHeld({ subject, id, body, traceparent }: Message): Delivery | undefined {
  const [, endpointId, epoch] = subject.split('.');
  const [eventId, , sending, attempts, dueAtMs] = id.split('.');
  if (endpointId === undefined || epoch === undefined) return undefined;
  if (!eventId || sending === undefined || dueAtMs === undefined) return undefined;
  return {
    endpointId,
    epoch: Number(epoch),
    // The owner that delivers what is held has read the endpoint for it.
    version: 0,
    eventId,
    sending,
    attempts: Number(attempts),
    dueAtMs: Number(dueAtMs),
    body,
    traceparent,
  };
}

export const attemptsSubject = (endpointId: string): string => `attempts.${endpointId}`;

/** Whatever the epoch. */
export const heldSubjects = (endpointId: string): string => `held.${endpointId}.*`;

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

/** The whole of an event, with the integration that it is of. */
export interface EventInFull extends EventHead {
  integrationId: unknown;
  data: unknown;
}

export function readEvent(body: Uint8Array): EventInFull | undefined {
  try {
    const parsed: unknown = JSON.parse(textOf(body, 0, body.length));
    if (typeof parsed !== 'object' || parsed === null) return undefined;
    if (!('event' in parsed && 'timestamp' in parsed)) return undefined;
    const { event, timestamp } = parsed;
    if (typeof event !== 'string' || typeof timestamp !== 'string') return undefined;
    return {
      event,
      timestamp,
      integrationId: 'integrationId' in parsed ? parsed.integrationId : undefined,
      data: 'data' in parsed ? parsed.data : undefined,
    };
  } catch {
    return undefined;
  }
}

const textOf = (bytes: Uint8Array, from: number, to: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8', from, to);
