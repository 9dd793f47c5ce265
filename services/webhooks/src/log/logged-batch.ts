// An event batch as the log stores it. Its events are decoded once for all endpoints, when the first endpoint needs them.
import { readEventBatch, readStoredBatchSubject, type EventBatch } from '@integration-sync/contracts';
import type { FollowedMessage, StoredMessage } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import { logRefused, mayHoldBatch } from './refused-kinds.ts';

/** How far the clock of nats-server may be behind the clock of the service that announces an event. */
export const clockSkewMs = 60_000;

/** How far clocks of machines may be apart (docs/operating.md#upgrades-stops-keys-clocks). */
export const clockMarginMs = 1_000;

export interface LoggedBatch {
  readonly sequence: number;
  readonly partition: number;
  readonly integration: string;
  readonly storedAt: Date;
  /** The memory that the batch takes once its events are decoded. */
  readonly bytes: number;
  readonly undecodedBytes: number;
  readonly count: number;
  /** The last event's sequence in EVENTS. */
  readonly eventsThrough: number;
  /** The only endpoint that gets an addressed batch; undefined for any other batch. */
  readonly endpointId: string | undefined;
  readonly isErasing: boolean;
  /** The W3C `traceparent` to which the spans of the batch's deliveries belong. */
  traceparent: string | undefined;
  /** The events, in the order of the message; `LogPoint.index` is an index into this array. They are decoded once. */
  events(): readonly StreamEvent[];
  /** The events as texts, which are read from the message again at each call. */
  texts(): readonly EventText[];
}

/** Reads an event batch. Undefined if the message is no event batch. */
export function readBatch(stored: FollowedMessage, log: Log): LoggedBatch | undefined {
  const subject = readStoredBatchSubject(stored.subject);
  const batch = readEventBatch(stored.body);
  if (subject === undefined || batch === undefined) return undefined;
  const { announcer, integration, partition } = subject;
  const endpointId = announcer === 'replay' ? batch.endpointId : undefined;
  const undecodedBytes = stored.body.length + bytesBeside;
  let events: readonly StreamEvent[] | undefined;
  let hasLogged = false;

  const texts = (): readonly EventText[] => {
    const { held = [], refused = [] } = Object.groupBy(readTexts(batch), ({ event }) =>
      mayHoldBatch(announcer, event) ? 'held' : 'refused',
    );
    if (refused.length > 0 && !hasLogged) logRefused(log, stored.subject, refused);
    hasLogged ||= refused.length > 0;
    return held;
  };

  const decode = (): readonly StreamEvent[] => {
    const { traceparent } = logged;
    return texts().map(({ eventId, event, timestamp, text }) =>
      streamEventOf({ event, timestamp }, eventId, {
        sequence: batch.eventsThrough,
        body: bytesOf(text),
        traceparent,
      }),
    );
  };

  const logged: LoggedBatch = {
    sequence: stored.sequence,
    partition,
    integration,
    storedAt: stored.storedAt,
    // The ids of decoded events keep the text of the whole message in memory.
    bytes: undecodedBytes + stored.body.length + batch.count * bytesOfEvent,
    undecodedBytes,
    count: batch.count,
    eventsThrough: batch.eventsThrough,
    endpointId,
    isErasing:
      announcer === 'catalog' && textOf(stored.body, 0, erasingBytesMax).includes('"supplier.erased"'),
    traceparent: stored.traceparent,
    events: () => (events ??= decode()),
    texts,
  };
  return logged;
}

const readTexts = (batch: EventBatch): EventText[] =>
  batch.events(asText).flatMap(({ id, begin, rest }) => {
    const text = begin.body + rest;
    // The head keeps the string that it was read from in memory. A head read from `text` would keep a copy of each event.
    const head = readUsualHead(begin.body || rest) ?? readEvent(bytesOf(text));
    if (head === undefined) return [];
    const { event, timestamp } = head;
    return { eventId: eventIdOf(id, batch.eventsThrough), event, timestamp, text };
  });

/** A sequence makes the id if the message of the event had no `Nats-Msg-Id`. */
const eventIdOf = (id: string, sequence: number): string => (id === '' ? `event-${sequence}` : id);

const asText = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
export const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');

/** How many bytes of a batch are searched for `supplier.erased`: the batch of an erasing begins with this event. */
const erasingBytesMax = 1_024;
/** Measured memory in bytes: of a batch without its message and its decoded events, and of each decoded event. */
const bytesBeside = 1_500;
const bytesOfEvent = 560;

export interface EventHead {
  event: string;
  timestamp: string;
}

export interface EventText extends EventHead {
  eventId: string;
  /** The event as JSON, decoded as Latin-1: each character is one byte. */
  text: string;
}

export interface EventFacts extends EventHead {
  sequence: number;
  /** The id of the push that caused the event; the id of the event if no push caused it. */
  origin: string;
  /** The endpoint that a `webhook.disabled` is about. */
  aboutEndpoint: string | undefined;
}

export interface StreamEvent extends EventFacts {
  eventId: string;
  body: Uint8Array;
  traceparent?: string | undefined;
}

type StoredEvent = Pick<StoredMessage, 'id' | 'sequence' | 'body' | 'traceparent'>;

/** Reads a message of EVENTS. Undefined if the bytes are no event. */
export function readStreamEvent(stored: StoredEvent): StreamEvent | undefined {
  const head = readUsualHead(textOf(stored.body, 0, usualHeadBytesMax)) ?? readEvent(stored.body);
  return head && streamEventOf(head, eventIdOf(stored.id, stored.sequence), stored);
}

function streamEventOf(
  { event, timestamp }: EventHead,
  eventId: string,
  { sequence, body, traceparent }: Omit<StoredEvent, 'id'>,
): StreamEvent {
  const about = aboutEndpoint(event, body);
  const origin = originOf(eventId);
  return { eventId, event, timestamp, sequence, origin, aboutEndpoint: about, body, traceparent };
}

function aboutEndpoint(event: string, body: Uint8Array): string | undefined {
  if (event !== 'webhook.disabled') return undefined;
  const data = readEvent(body)?.data;
  if (typeof data !== 'object' || data === null || !('webhookId' in data)) return undefined;
  return typeof data.webhookId === 'string' ? data.webhookId : undefined;
}

const ofPush = /^(sync_[\da-f]+)-/;

/** The id of the push that caused the event; the id of the event if no push caused it. */
export const originOf = (eventId: string): string => ofPush.exec(eventId)?.[1] ?? eventId;

/** The usual beginning of an event's body, as services write it. A delivery of an event with this beginning parses no JSON. */
const usualHead = /^\{"event":"([\w.]+)","timestamp":"([\w.:+-]+)",/;
const usualHeadBytesMax = 128;

/** Reads the head of an event without parsing JSON. Undefined unless the body has the usual beginning. */
function readUsualHead(text: string): EventHead | undefined {
  const [, event, timestamp] = usualHead.exec(text) ?? [];
  return event === undefined || timestamp === undefined ? undefined : { event, timestamp };
}

/** Reads an event. Undefined if the bytes are no event. */
export function readEvent(body: Uint8Array) {
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
