// The route of the event feed.
import { Type } from 'typebox';
import { eventKinds } from '../events.ts';
import { EventPage } from '../feed.ts';
import { limits } from '../limits.ts';
import { scopes } from '../scopes.ts';
import { subjects } from '../subjects.ts';
import { feedExample } from './examples.ts';
import { text } from './parameters.ts';
import { basePath, feedTimeoutMs, type Route } from './route.ts';

export const feedRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: `${basePath}/events`,
    operationId: 'readEvents',
    tag: 'Events',
    summary: 'Read the events of the last 7 days in their order, and wait for new ones',
    description:
      'Without `after` and `since` it begins now. `next` is the end of what was looked at: hand it on as `after`, ' +
      'whatever `events` and `limit` are then. A page may be empty with `more: true`. A place that the stream no longer ' +
      'has is 409: list the records and begin anew.',
    scope: scopes.eventsRead,
    subject: subjects.eventsRead,
    conflicts: true,
    query: [
      text('after', 'Where the page before ended, from its `next`'),
      text(
        'since',
        'Begin at the first event that occurred after this time: a day, or a date-time with Z or an offset. Not beside `after`',
      ),
      text('events', `Only these kinds, separated by commas: ${eventKinds.join(', ')}`),
      {
        name: 'limit',
        schema: Type.Integer({ minimum: 1, default: limits.feedEventsDefault }),
        description: `Events per page; more than ${limits.feedEventsMax} is taken as ${limits.feedEventsMax}`,
      },
      {
        name: 'wait',
        schema: Type.Integer({ minimum: 0, maximum: limits.feedWaitSecondsMax, default: 0 }),
        description:
          'For how many seconds to wait where there is no event yet. The answer may come earlier, without an event, or half a ' +
          'second later',
      },
    ],
    answer: { status: 200, schema: EventPage, example: feedExample },
    timeoutMs: feedTimeoutMs,
  },
];
