// The event feed: the query of a caller, and a page of events.
import { Type, type Static } from 'typebox';
import { eventKinds, isEventKind, type EventKind } from './events.ts';
import type { FailureEntry } from './failure.ts';
import { limits } from './limits.ts';
import { readInstant, readNumber, readOnce, type QueryParameters } from './listing-query.ts';
import { quote } from './quote.ts';
import { unknownNamedMax } from './unknown-names.ts';

/** An event as webhooks delivers it, with its id. */
const FeedEvent = Type.Object(
  {
    id: Type.String({
      description: 'The id of the event, by which receivers recognise duplicates: the same in each delivery',
    }),
    event: Type.String({ description: 'The kind of the event; more kinds may be added' }),
    timestamp: Type.String({ format: 'date-time' }),
    integrationId: Type.String(),
    data: Type.Object(
      {},
      {
        description: 'The data of the event, as in its delivery; see `webhooks` of the OpenAPI document',
        additionalProperties: true,
      },
    ),
  },
  { title: 'FeedEvent' },
);

export const EventPage = Type.Object(
  {
    events: Type.Array(FeedEvent, { description: 'Events in the order of the stream; may be empty' }),
    next: Type.String({
      description: 'The `after` of your next call, which begins after the last event that this page has read',
    }),
    more: Type.Boolean({ description: 'Whether the stream already has events after this page' }),
  },
  { title: 'EventPage' },
);
export type EventPage = Static<typeof EventPage>;

/** Adds each problem of the query to `errors`. `kinds` is undefined if the caller asks for all kinds of events. */
export function readFeedQuery(query: QueryParameters, errors: FailureEntry[]) {
  // `after` is read as text, because only the service webhooks can decrypt it.
  const after = readOnce(query, 'after', errors);
  const since = readInstant(query, 'since', errors);
  if (after !== undefined && query.getAll('since').length > 0) {
    errors.push({ pointer: 'since', detail: 'since: expected none beside after' });
  }
  const kinds = readKinds(query, errors);
  const limit = readNumber(query, 'limit', { fallback: limits.feedEventsDefault }, errors);
  const seconds = readNumber(query, 'wait', { fallback: 0, min: 0, max: limits.feedWaitSecondsMax }, errors);
  return { after, since, kinds, limit: Math.min(limit, limits.feedEventsMax), waitMs: seconds * 1_000 };
}

function readKinds(query: QueryParameters, errors: FailureEntry[]): ReadonlySet<EventKind> | undefined {
  const text = readOnce(query, 'events', errors);
  if (text === undefined) return undefined;
  const names = text.split(',');
  const unknown = [...new Set(names.filter((name) => !isEventKind(name)))];
  if (unknown.length > 0) {
    const named = unknown.slice(0, unknownNamedMax).map(quote).join(', ');
    const more = unknown.length > unknownNamedMax ? `, and ${unknown.length - unknownNamedMax} more` : '';
    const detail = `events: expected kinds of ${eventKinds.join(', ')}, separated by commas, got ${named}${more}`;
    errors.push({ pointer: 'events', detail });
  }
  return new Set(names.filter(isEventKind));
}
