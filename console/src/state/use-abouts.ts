// What the events in a table of attempts are about: the attempt log has only their ids, and the feed has their data.
import { useMemo } from 'preact/hooks';
import { get } from '../api/request.ts';
import type { EventPage, FeedEvent } from '../api/shapes.ts';
import { useLacks } from './use-lacks.ts';
import { aboutOf } from '../text/about.ts';
import { timeBefore } from '../text/box.ts';
import { feed, feedScope, keptEventsMax } from './feed.ts';
import { useStore } from '../store.ts';
import { useLoad } from './use-load.ts';

/** Texts by the ids of events. One page of the feed is loaded for each `table`; the live feed adds later events. */
export function useAbouts(
  ids: readonly string[],
  kinds: readonly string[],
  table: string,
): ReadonlyMap<string, string> {
  const isOff = useLacks(feedScope);
  const { events } = useStore(feed);
  const isThere = ids.length > 0;
  const since = useMemo(() => timeBefore(ids), [table, isThere]);
  const { answer } = useLoad<EventPage>(
    isOff || since === undefined
      ? undefined
      : get('/events', { since, events: kinds.join(','), limit: keptEventsMax }),
  );
  return useMemo(() => new Map([...(answer?.body.events ?? []), ...events].map(entryOf)), [answer, events]);
}

const entryOf = ({ id, data }: FeedEvent): [string, string] => [id, aboutOf(data)];
