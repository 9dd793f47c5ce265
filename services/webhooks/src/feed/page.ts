// A page of the feed: the events that a caller asks for, and where the next page begins. The next page begins after the last
// event that this page has read, shown or not, so that each event is filtered once.
import { limits } from '@integration-sync/contracts';
import { chunkItems, nextTurn } from '@integration-sync/runtime/pace';
import { bytesOf, readEvent, type EventText } from '../log/logged-batch.ts';
import type { LogPoint } from '../log/offsets.ts';
import type { Window } from '../log/window.ts';

export interface PageAsked {
  from: LogPoint;
  /** The page leaves out all events before the first event that is later than this time. */
  sinceMs: number | null;
  kinds: ReadonlySet<string> | undefined;
  limit: number;
  /** The bound on all events of the page together. */
  bytesMax: number;
}

export interface Page {
  /** The events of the page, each as JSON, decoded as Latin-1: each character is one byte. */
  events: string[];
  next: LogPoint;
  sinceMs: number | null;
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

  /** Adds the event to the page, unless a filter leaves it out. False if the page has no room for the event. */
  const take = (event: EventText): boolean => {
    if (page.sinceMs !== null && Date.parse(event.timestamp) <= page.sinceMs) return true;
    page.sinceMs = null;
    if (kinds?.has(event.event) === false) return true;
    if (page.events.length === limit) return false;
    const shown = shownOf(event);
    if (page.events.length > 0 && bytes + shown.length > bytesMax) return false;
    page.events.push(shown);
    bytes += shown.length + 1;
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
    const { sequence } = batch;
    const events = batch.endpointId === undefined ? batch.texts() : [];
    let index = sequence === page.next.sequence ? page.next.index : 0;
    for (; index < events.length; index += 1) {
      const event = events[index];
      if (event === undefined || take(event)) continue;
      return { ...page, next: { sequence, index } };
    }
    page.next = { sequence: sequence + 1, index: 0 };
    lookedAt += batch.undecodedBytes;
    itemsInTurn += events.length;
    if (itemsInTurn > chunkItems) {
      await nextTurn();
      itemsInTurn = 0;
    }
    if (page.events.length === limit) break;
  }
  return { ...page, more: window.at(page.next.sequence) !== 'end' };
}

/** An event as JSON: the body of its delivery, with the event's id as the first key. */
function shownOf({ eventId, text, event, timestamp }: EventText): string {
  if (text.startsWith('{')) return `{"id":${JSON.stringify(eventId)},${text.slice(1)}`;
  const { integrationId, data } = readEvent(bytesOf(text)) ?? { integrationId: '', data: {} };
  const shown = JSON.stringify({ id: eventId, event, timestamp, integrationId, data });
  return Buffer.from(shown).toString('latin1');
}
