// The event feed: what happened, in order, for a program that takes no webhooks.
import type { Send } from './call.ts';
import { queryOf } from './query.ts';
import type { Event, EventKind } from './types.ts';

/** As a webhook delivers it, and the id by which a duplicate is told. */
export type FedEvent = Event & { id: string };

export interface PollPage<Entity> {
  entities: Entity[];
  /** The next `changedSince`, once all before it was shown: with the last page of a walk. Of the feed, the next `after`. */
  next: string | undefined;
}

export interface FeedPoll {
  /** The `next` of an earlier page. Without it and `since`, the feed begins now. */
  after?: string | undefined;
  /** Only events with a later `timestamp`; not beside `after`. */
  since?: string | undefined;
  /** Only these kinds. */
  events?: readonly EventKind[] | undefined;
  /** Of a page: 100 unless given. */
  limit?: number | undefined;
  /** Goes on for ever: a call waits so long for an event, 25 at most. Without it the feed ends with what is there. */
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
    if (wait === undefined && !page.more) return;
  }
}
