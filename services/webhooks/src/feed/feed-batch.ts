// An event batch as pages of the feed read it: as Latin-1 text, in which each character is one byte. Only the heads of
// events are decoded, and only the bytes of the message stay in memory.
import {
  readEventBatch,
  readStoredBatchSubject,
  type EventBatch,
  type EventLine,
} from '@integration-sync/contracts';
import type { StoredMessage } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import {
  asText,
  bytesBeside,
  bytesOf,
  logRefused,
  mayHoldBatch,
  readEvent,
  readUsualHead,
  usualHeadBytesMax,
  type EventHead,
} from '../log/logged-batch.ts';

export interface FeedBatch {
  readonly sequence: number;
  readonly bytes: number;
  /** The events that the feed shows; `LogPoint.index` is an index into this array. Each call reads them again. */
  events(): readonly FeedEvent[];
}

export interface FeedEvent extends EventHead {
  eventId: string;
  /** The event as JSON, decoded as Latin-1: each character is one byte. */
  body: string;
}

/** Reads an event batch. Undefined if the message is no event batch. */
export function readFeedBatch(stored: StoredMessage, log: Log): FeedBatch | undefined {
  const subject = readStoredBatchSubject(stored.subject);
  const batch = readEventBatch(stored.body);
  if (subject === undefined || batch === undefined) return undefined;
  const { announcer } = subject;
  let hasLogged = false;

  const events = (): readonly FeedEvent[] => {
    if (announcer === 'replay' && batch.endpointId !== undefined) return [];
    const { held, refused } = readEvents(batch, mayHoldBatch(announcer));
    if (refused.length > 0 && !hasLogged) logRefused(log, stored.subject, refused);
    hasLogged ||= refused.length > 0;
    return held;
  };

  return { sequence: stored.sequence, bytes: stored.body.length + bytesBeside, events };
}

function readEvents(
  batch: EventBatch,
  holds: (kind: string) => boolean,
): { held: FeedEvent[]; refused: EventHead[] } {
  const held: FeedEvent[] = [];
  const refused: EventHead[] = [];
  const headOf = openHeads();
  const isHeld = new Map<string, boolean>();
  for (const line of batch.events(asText)) {
    const body = line.begin.body + line.rest;
    const head = headOf(line) ?? readEvent(bytesOf(body));
    if (head === undefined) continue;
    const { event, timestamp } = head;
    // A sequence makes the id if the message of the event had no `Nats-Msg-Id`.
    const eventId = line.id === '' ? `event-${batch.eventsThrough}` : line.id;
    if (isHeld.getOrInsertComputed(event, holds)) held.push({ eventId, event, timestamp, body });
    else refused.push(head);
  }
  return { held, refused };
}

/** Reads the heads of events. Events of a push often have the same head, which is then read once. */
function openHeads(): (line: EventLine) => EventHead | undefined {
  const known = new Map<EventLine['begin'], EventHead | undefined>();
  return ({ begin, rest }) => {
    if (!known.has(begin)) known.set(begin, readUsualHead(begin.body));
    return known.get(begin) ?? readUsualHead((begin.body + rest).slice(0, usualHeadBytesMax));
  };
}
