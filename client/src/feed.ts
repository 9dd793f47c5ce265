// The event feed: what happened, in order, for a program that takes no webhooks.
import type { Send } from './call.ts';
import { queryOf } from './query.ts';
import type { Event, EventKind } from './types.ts';

/** An event as a webhook delivers it, with its id, by which a program recognises duplicates. */
export type FedEvent = Event & { id: string };

export interface PollPage<Entity> {
  entities: Entity[];
  /** The next `after` of the feed; for records the next `changedSince`, on the last page of a walk only. */
  next: string | undefined;
}

export interface FeedPoll {
  /** The `next` of an earlier page. Without `after` and `since`, the feed begins now. */
  after?: string | undefined;
  /** Only events with a later `timestamp`; not beside `after`. */
  since?: string | undefined;
  /** Only events of these kinds. */
  events?: readonly EventKind[] | undefined;
  /** How many events a page has at most: 100 unless given. */
  limit?: number | undefined;
  /** Makes each call wait for an event (25 s at most), for ever. Without it or at 0, present events end the iterator. */
  waitSeconds?: number | undefined;
  signal?: AbortSignal | undefined;
}

export async function* pollFeed(
  send: Send,
  how: FeedPoll,
): AsyncGenerator<PollPage<FedEvent>, void, undefined> {
  const { since, events, limit, waitSeconds: wait, signal } = how;
  let { after } = how;
  for (;;) {
    const begin = after === undefined ? since : undefined;
    const query = queryOf({ after, since: begin, events: events?.join(','), limit, wait });
    const { text } = await send({ method: 'GET', path: `events${query}`, signal });
    const page: { events: FedEvent[]; next: string; more: boolean } = JSON.parse(text);
    after = page.next;
    yield { entities: page.events, next: page.next };
    if ((wait ?? 0) === 0 && !page.more) return;
  }
}
