// The route of the event feed.
import { Type } from 'typebox';
import { eventKinds } from '../events.ts';
import { EventPage } from '../feed.ts';
import { limits } from '../limits.ts';
import { scopes } from '../scopes.ts';
import { subjects } from '../subjects.ts';
import { feedExample } from './examples.ts';
import { answered, parameter, text } from './parameters.ts';
import { basePath, feedTimeoutMs, type Route } from './route.ts';

export const feedRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: `${basePath}/events`,
    operationId: 'readEvents',
    tag: 'Events',
    summary: 'Read the events of the last 7 days in their order, and wait for new ones',
    description:
      'Without `after` and `since` the feed begins now. Send `next` of a page as `after` of the next call, whatever its ' +
      '`events` and `limit` are. A page may be empty although `more` is true. If the stream no longer has the events ' +
      'behind `after`, the answer is 409: list the records and begin again.',
    scope: scopes.eventsRead,
    subject: subjects.eventsRead,
    conflicts: true,
    query: [
      text('after', 'The `next` of the page before'),
      text(
        'since',
        'Begin at the first event that occurred after this time: a day, or a date-time with Z or an offset. Not beside `after`',
      ),
      text('events', `Only these kinds, separated by commas: ${eventKinds.join(', ')}`),
      parameter(
        'limit',
        Type.Integer({ minimum: 1, default: limits.feedEventsDefault }),
        `Events per page; more than ${limits.feedEventsMax} is taken as ${limits.feedEventsMax}`,
      ),
      parameter(
        'wait',
        Type.Integer({ minimum: 0, maximum: limits.feedWaitSecondsMax, default: 0 }),
        'For how many seconds to wait if there is no event yet. The answer may come earlier, without an event, or half a ' +
          'second later',
      ),
    ],
    answer: answered(EventPage, feedExample),
    timeoutMs: feedTimeoutMs,
  },
];
