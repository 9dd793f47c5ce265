// An event as a replica reads it from the stream: what its message says of it, and what it says of itself.
import { mayAnnounce } from '@integration-sync/contracts';
import { readEvent, readEventHead } from './event-head.ts';

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

export interface StreamEvent extends EventFacts {
  eventId: string;
  body: Uint8Array;
  traceparent?: string | undefined;
}

export interface StoredEvent {
  id: string;
  sequence: number;
  body: Uint8Array;
  traceparent?: string | undefined;
}

/** Undefined where the bytes are no event. */
export function readStreamEvent({ id, sequence, body, traceparent }: StoredEvent): StreamEvent | undefined {
  const head = readEventHead(body);
  if (head === undefined) return undefined;
  // One that was published without an id is still one event.
  const eventId = id === '' ? `event-${sequence}` : id;
  return {
    ...head,
    eventId,
    origin: originOf(eventId),
    body,
    traceparent,
    sequence,
    aboutEndpoint: aboutEndpoint(head.event, body),
  };
}

function aboutEndpoint(event: string, body: Uint8Array): string | undefined {
  if (event !== 'webhook.disabled') return undefined;
  const data = readEvent(body)?.data;
  if (typeof data !== 'object' || data === null || !('webhookId' in data)) return undefined;
  return typeof data.webhookId === 'string' ? data.webhookId : undefined;
}

/** To the subject of an event nats-server holds its publisher; the body says what it likes. */
export function mayHold(subject: string): (kind: string) => boolean {
  const [, , ...ofEvent] = subject.split('.');
  return (kind) => kind === ofEvent.join('.');
}

/** The same of an event batch, whose subject has the announcer. */
export const mayHoldBatch =
  (announcer: string): ((kind: string) => boolean) =>
  (kind) =>
    announcer === 'replay' || mayAnnounce(announcer, kind);

const ofPush = /^(sync_[\da-f]+)-/;

/** The push that an event comes of; of any other event, itself. */
export const originOf = (eventId: string): string => ofPush.exec(eventId)?.[1] ?? eventId;
