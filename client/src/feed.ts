// The event feed: all events in order, for a program that does not receive webhooks.
import type { Send } from './call.ts';
import { queryOf } from './query.ts';
import type { Event, EventKind } from './types.ts';

/** An event as a webhook delivers it, with its id, by which a program recognises duplicates. */
export type FedEvent = Event & { id: string };

export interface PollPage<Entity> {
  entities: Entity[];
  /** The value for the next poll: `after` of the feed, or `changedSince` of a listing, where only the last page has it. */
  next: string | undefined;
}

export interface FeedPoll {
  /** The `next` of an earlier page: the feed begins after that page. Without `after` and `since`, the feed begins now. */
  after?: string | undefined;
  /** The feed begins with the first event whose `timestamp` is later than this. Not allowed together with `after`. */
  since?: string | undefined;
  /** Shows only events of these kinds. */
  events?: readonly EventKind[] | undefined;
  /** How many events a page has at most: 100 by default. */
  limit?: number | undefined;
  /**
   * How long each call waits for an event, at most 25 s. If absent or 0, the iterator ends after the last event that the
   * service has; otherwise the iterator never ends.
   */
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
    const call = { method: 'GET', path: `events${query}`, signal };
    const { body: page } = await send<{ events: FedEvent[]; next: string; more: boolean }>(call);
    after = page.next;
    yield { entities: page.events, next: page.next };
    if ((wait ?? 0) === 0 && !page.more) return;
  }
}
