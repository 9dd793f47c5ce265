// Compares the feed with the stream EVENTS: the feed shows each event, in one order for each reader, limit and filter.
import type { AskLine } from '../lines.ts';
import { idsOf, syncIdOf, type Check, type Facts } from './facts.ts';

/** A nats-server that was started anew has forgotten ids: events from about that time may come twice, and so out of order. */
const doubtMs = 15_000;
/** A reader of the feed surely gets an event that was stored this long before. */
const readableMs = 1_000;

export const checkFeed: Check = (facts, report) => {
  const pages = facts.asks.filter(({ path }) => path.startsWith('/events?'));
  const readers = Map.groupBy(pages, ({ by, integration }) => `${by} of ${integration}`);
  for (const [name, whole] of [...readers].filter(([by]) => by.startsWith('whole'))) {
    const tell: Tell = (what) => report('feed', `${name}: ${what}`);
    const shown = idsOf(whole);
    const integration = whole[0]?.integration ?? '';
    checkWhole(facts, { shown, integration }, tell);
    for (const [reader, read] of readers)
      if (read !== whole && read[0]?.integration === integration)
        checkReader(facts, { shown, reader, read }, tell);
  }
};

type Tell = (what: string) => void;

function checkWhole(
  { events, eventById, isOmitted, isStruck, toLedger }: Facts,
  { shown, integration }: { shown: readonly string[]; integration: string },
  tell: Tell,
): void {
  const isInDoubt = (atMs: number): boolean => isStruck(atMs - doubtMs, atMs + doubtMs);
  const known = new Set(shown);
  for (const event of events)
    if (event.body.integrationId === integration && !known.has(event.id) && !isOmitted(event))
      tell(`${event.id} is left out`);
  const last = new Map<string, number>();
  for (const id of shown) {
    const event = eventById.get(id);
    const before = last.get(syncIdOf(id)) ?? 0;
    if (event === undefined) tell(`${id} does not stand on the stream`);
    else if (event.sequence <= before && !isInDoubt(toLedger(event.body.timestamp)))
      tell(`${id} comes again, or too late`);
    last.set(syncIdOf(id), event?.sequence ?? before);
  }
}

/** `shown`: the ids of the whole feed. */
function checkReader(
  { bySync, eventById, toLedger }: Facts,
  { shown, reader, read }: { shown: readonly string[]; reader: string; read: readonly AskLine[] },
  tell: Tell,
): void {
  const kinds = /events=([^&]*)/.exec(read[0]?.path ?? '')?.[1]?.split(',');
  const wanted = shown.filter((id) => kinds?.includes(eventById.get(id)?.body.event ?? '') !== false);
  const own = idsOf(read);
  // The reader began at the end of the feed, and may have ended before the last event was stored.
  const at = own.length === 0 ? wanted.length : wanted.indexOf(own[0] ?? '');
  const wrong = own.findIndex((id, nth) => id !== wanted[at + nth]);
  if (wrong !== -1)
    tell(`${reader} was shown ${own[wrong]}, number ${wrong + 1}, in place of ${wanted[at + wrong]}`);
  const [begunMs, lastMs] = [read[0]?.endedMs ?? 0, read.at(-1)?.begunMs ?? 0];
  const missed = [...wanted.slice(0, Math.max(at, 0)), ...wanted.slice(at + own.length)].find((id) => {
    const storedMs = toLedger(eventById.get(id)?.storedAt ?? '');
    return (bySync.get(syncIdOf(id))?.begunMs ?? 0) > begunMs && storedMs + readableMs < lastMs;
  });
  if (missed !== undefined) tell(`${reader}, who began before it, was not shown ${missed}`);
}
