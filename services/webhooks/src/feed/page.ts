// A page of the feed: the events that a caller asks for, and where the next page begins. The next page begins after the last
// event that was read, shown or not, so that a filter passes over each event once.
import { limits } from '@integration-sync/contracts';
import { chunkItems, nextTurn } from '@integration-sync/runtime/pace';
import { readEvent, type StreamEvent } from '../log/batch.ts';
import type { LogPoint } from '../log/offsets.ts';
import type { Window } from '../log/window.ts';

export interface PageAsked {
  from: LogPoint;
  /** Events up to this time are passed over until the first later one. */
  sinceMs: number | null;
  kinds: ReadonlySet<string> | undefined;
  limit: number;
  /** The bound on all events of the page together. */
  bytesMax: number;
}

export interface Page {
  /** As JSON. */
  events: string[];
  next: LogPoint;
  sinceMs: number | null;
  /** Whether it ends before the end of the window. */
  more: boolean;
}

export async function readPage(
  window: Pick<Window, 'at' | 'load' | 'through'>,
  { from, sinceMs, kinds, limit, bytesMax }: PageAsked,
): Promise<Page> {
  const page: Page = { events: [], next: from, sinceMs, more: true };
  let bytes = 0;
  let lookedAt = 0;
  let itemsInTurn = 0;

  /** False where the page is full before the event. */
  const take = (event: StreamEvent): boolean => {
    if (page.sinceMs !== null && Date.parse(event.timestamp) <= page.sinceMs) return true;
    page.sinceMs = null;
    if (kinds?.has(event.event) === false) return true;
    if (page.events.length === limit) return false;
    const text = textOf(event);
    const length = Buffer.byteLength(text);
    if (page.events.length > 0 && bytes + length > bytesMax) return false;
    page.events.push(text);
    bytes += length + 1;
    return true;
  };

  while (lookedAt < limits.feedBytesMax) {
    const batch = window.at(page.next.sequence);
    if (batch === undefined) {
      await window.load(page.next.sequence);
      continue;
    }
    if (batch === 'end') {
      const end = window.through + 1;
      if (end > page.next.sequence) page.next = { sequence: end, index: 0 };
      return { ...page, more: false };
    }
    const { sequence, endpointId } = batch;
    // An addressed batch of a replay is not shown.
    const events = endpointId === undefined ? batch.events() : [];
    let index = sequence === page.next.sequence ? page.next.index : 0;
    for (; index < events.length; index += 1) {
      const event = events[index];
      if (event === undefined || take(event)) continue;
      return { ...page, next: { sequence, index } };
    }
    page.next = { sequence: sequence + 1, index: 0 };
    lookedAt += batch.bytes;
    itemsInTurn += events.length;
    if (itemsInTurn > chunkItems) {
      await nextTurn();
      itemsInTurn = 0;
    }
    if (page.events.length === limit) break;
  }
  return { ...page, more: window.at(page.next.sequence) !== 'end' };
}

const brace = 0x7b;

/** The body that webhooks delivers, with the id before its other keys. */
function textOf({ eventId, body, event, timestamp }: StreamEvent): string {
  const id = JSON.stringify(eventId);
  if (body[0] === brace) {
    return `{"id":${id},${Buffer.from(body.buffer, body.byteOffset + 1, body.length - 1).toString()}`;
  }
  const { integrationId, data } = readEvent(body) ?? { integrationId: '', data: {} };
  return JSON.stringify({ id: eventId, event, timestamp, integrationId, data });
}
