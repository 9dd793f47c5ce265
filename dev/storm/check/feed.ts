// The feed beside the stream EVENTS: it shows each event, in one order for every reader, whatever their limits and filters.
import type { FeedPage } from '../customers/readers.ts';
import type { AskLine, EventLine, FaultLine } from '../lines.ts';
import { syncIdOf } from './events.ts';
import type { History } from './history.ts';
import { openDates, openStruck } from './times.ts';
import type { Report } from './violations.ts';

interface Seen {
  asks: readonly AskLine[];
  events: readonly EventLine[];
  faults: readonly FaultLine[];
}

/** A nats-server that was started anew has forgotten ids: events from about that time may come twice, and so out of order. */
const doubtMs = 15_000;

/** An event is surely readable so long after it was stored; the clocks of both are compared by the times of pushes. */
const readableMs = 1_000;

const pageOf = ({ answer }: AskLine): FeedPage => ({ ids: [], next: '', more: false, ...Object(answer) });

const idsOf = (pages: readonly AskLine[]): string[] => pages.flatMap((page) => pageOf(page).ids);

export function checkFeed({ pushes, bySync }: History, { asks, events, faults }: Seen, report: Report): void {
  const toLedger = openDates(pushes);
  const isStruck = openStruck(faults);
  const byId = new Map(events.map((event) => [event.id, event]));
  const isInDoubt = ({ body }: EventLine): boolean => {
    const atMs = toLedger(body.timestamp);
    return isStruck(atMs - doubtMs, atMs + doubtMs);
  };
  const pages = asks.filter(({ path }) => path.startsWith('/events?'));
  const readers = [...Map.groupBy(pages, ({ by, integration }) => `${by} of ${integration}`)];
  for (const [name, whole] of readers.filter(([by]) => by.startsWith('whole'))) {
    const integration = whole[0]?.integration ?? '';
    const tell = (what: string): void => report({ class: 'feed', what: `${name}: ${what}` });
    const shown = idsOf(whole);
    const known = new Set(shown);
    for (const event of events) {
      if (event.body.integrationId === integration && !known.has(event.id)) tell(`${event.id} is left out`);
    }
    const last = new Map<string, number>();
    for (const id of shown) {
      const event = byId.get(id);
      const before = last.get(syncIdOf(id)) ?? 0;
      if (event === undefined) tell(`${id} does not stand on the stream`);
      else if (event.sequence <= before && !isInDoubt(event)) tell(`${id} comes again, or too late`);
      last.set(syncIdOf(id), event?.sequence ?? before);
    }
    for (const [reader, read] of readers) {
      if (read === whole || read[0]?.integration !== integration) continue;
      const kinds = /events=([^&]*)/.exec(read[0].path)?.[1]?.split(',');
      const wanted = shown.filter((id) => kinds?.includes(byId.get(id)?.body.event ?? '') !== false);
      const own = idsOf(read);
      // It began at the end of the feed, and may have ended before the last event was stored.
      const at = own.length === 0 ? wanted.length : wanted.indexOf(own[0] ?? '');
      const wrong = own.findIndex((id, nth) => id !== wanted[at + nth]);
      if (wrong !== -1)
        tell(`${reader} was shown ${own[wrong]}, number ${wrong + 1}, in place of ${wanted[at + wrong]}`);
      const [begunMs, lastMs] = [read[0].endedMs, read.at(-1)?.begunMs ?? 0];
      const missed = [...wanted.slice(0, Math.max(at, 0)), ...wanted.slice(at + own.length)].find((id) => {
        const storedMs = toLedger(byId.get(id)?.storedAt ?? '');
        return (bySync.get(syncIdOf(id))?.begunMs ?? 0) > begunMs && storedMs + readableMs < lastMs;
      });
      if (missed !== undefined) tell(`${reader}, who began before it, was not shown ${missed}`);
    }
  }
}
