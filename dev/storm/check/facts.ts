// The contents of the ledger, read once for all checks. A check is one function over these facts.
import type { DeliveryAttempt, EntityType } from '@integration-sync/contracts';
import type { FeedPage } from '../customers/readers.ts';
import type { AskLine, EventLine, Ledger, PageLine, Plural, Sighting } from '../lines.ts';
import { erasedPrefix } from '../own-ids.ts';
import { readHistory, type History } from './history.ts';
import type { Seen } from './order.ts';
import { isErased, keyOf, listingOf } from './push.ts';
import { openDates, openStruck, touchesDeliveries } from './times.ts';
import type { Report } from './violations.ts';
import type { SeenEvent } from './worlds.ts';

export type Facts = ReturnType<typeof readFacts>;

export type Check = (facts: Facts, report: Report) => void;

export function readFacts(ledger: Ledger) {
  const history = readHistory(ledger.begun, ledger.ended);
  const toLedger = openDates(history.pushes);
  const eventById: ReadonlyMap<string, EventLine> = new Map(ledger.events.map((event) => [event.id, event]));
  const sightings = new Map(
    ledger.listed.flatMap(({ integration, plural, entities }) =>
      entities.map((one): [string, Sighting] => [keyOf(integration, plural, one[0] || one[2]), one]),
    ),
  );
  const hashes = new Set(ledger.pending.flatMap((line) => line.hashes));
  const feeds = idsOf(ledger.asks.filter(({ by }) => by.startsWith('whole')));
  return {
    ...ledger,
    ...history,
    toLedger,
    isStruck: openStruck(ledger.faults),
    /** Whether a fault that affects deliveries lasted in the given span. */
    isDeliveryStruck: openStruck(ledger.faults.filter(touchesDeliveries)),
    eventById,
    /** Whether the event's push was announced again after its record had been erased, and so without this event. */
    isOmitted: ({ id, body }: EventLine): boolean =>
      'externalId' in body.data &&
      body.data.externalId.startsWith(erasedPrefix) &&
      feeds
        .slice(0, feeds.indexOf(`${syncIdOf(id)}-completed`))
        .some(
          (one) => one.includes('-erased-') && internalIdOf(eventById.get(one)) === internalIdOf({ body }),
        ),
    /** The deliveries of each event to each endpoint, by `nameOf`. */
    hitsOf: Map.groupBy(ledger.deliveries, nameOf),
    /** The events of each record, without repetitions. */
    byRecord: eventsByRecord(eventById.values(), history),
    /** The listings after the storm, by record. */
    sightings,
    /** What the database holds of each record. */
    documents: new Map(ledger.stored.map((one) => [keyOf(one.integration, one.plural, one.externalId), one])),
    /** What pages showed of each record while the storm went on. */
    seenBy: seenByRecord(ledger.pages),
    polls: completedPolls(ledger.pages),
    /** The attempt logs by endpoint. */
    logs: new Map(
      ledger.attempts.map(({ endpoint, newest: all, failed: some, readMs, total }) => {
        const [newest, failed] = [all, some].map((of) => of.map((one) => entryOf(one, toLedger)));
        return [endpoint, { readMs, total, newest: newest ?? [], failed: failed ?? [] }];
      }),
    ),
    /** The runs that recovery has not finished: their records may still change, and their changes be announced. */
    pendingRuns: new Set(ledger.pending.map(({ syncId }) => syncId)),
    isPending: (key: string): boolean => hashes.has(sightings.get(key)?.[2].split('_').at(-1) ?? ''),
  };
}

export type Entry = ReturnType<typeof entryOf>;

/** An entry of an attempt log, by the clock of the ledger. */
function entryOf(entry: DeliveryAttempt, toLedger: (date: string) => number) {
  const { eventId: event, attempt, outcome, at, durationMs, responseStatus: status, nextAttemptAt } = entry;
  const begunMs = toLedger(at);
  /** When the next attempt is due; Infinity if there is none. */
  const nextMs = nextAttemptAt === null ? Infinity : toLedger(nextAttemptAt);
  return {
    event,
    attempt,
    hasSucceeded: outcome === 'succeeded',
    begunMs,
    endedMs: begunMs + durationMs,
    nextMs,
    status,
  };
}

export const idsOf = (pages: readonly AskLine[]): string[] =>
  pages.flatMap(({ answer }) => {
    const { ids }: FeedPage = { ids: [], next: '', more: false, ...Object(answer) };
    return ids;
  });

export const internalIdOf = (event: Pick<EventLine, 'body'> | undefined): string | undefined =>
  event !== undefined && 'internalId' in event.body.data ? event.body.data.internalId : undefined;

export const syncIdOf = (eventId: string): string => eventId.split('-')[0] ?? '';

export const entityPlurals: Readonly<Record<EntityType, Plural>> = {
  supplier: 'suppliers',
  product: 'products',
  batch: 'batches',
};

/** An event of a record; `by` is the sync id of its run. */
export type RecordEvent = SeenEvent & { by: string };

function eventsByRecord(events: Iterable<EventLine>, { bySync }: History) {
  const plurals = new Map<string, Plural>(Object.entries(entityPlurals));
  const ofRecords = [...events].flatMap(({ id, body }) => {
    const { data, event, integrationId } = body;
    const [noun = '', verb] = event.split('.');
    const plural = plurals.get(noun);
    if (plural === undefined || !('externalId' in data) || isErased(data.externalId)) return [];
    const key = keyOf(integrationId, plural, data.externalId);
    const ofArchive = verb === 'archived' ? ['syncStatus'] : [];
    const changed: readonly string[] = 'changedFields' in data ? data.changedFields.toSorted() : ofArchive;
    const by = syncIdOf(id);
    return { key, by, push: bySync.get(by)?.id, created: verb === 'created', changed };
  });
  return Map.groupBy(ofRecords, ({ key }) => key);
}

export interface SeenBy extends Seen {
  reader: string;
  poll: number | null;
}

const seenByRecord = (pages: readonly PageLine[]): ReadonlyMap<string, SeenBy[]> =>
  Map.groupBy(
    pages.flatMap(({ integration, plural, entities, reader, poll, begunMs, endedMs }) =>
      entities.map(([externalId, name]) => {
        return { key: keyOf(integration, plural, externalId), reader, poll, name, begunMs, endedMs };
      }),
    ),
    ({ key }) => key,
  );

/** By `integration/plural`, the polls that were read to their last page, oldest first. */
function completedPolls(pages: readonly PageLine[]) {
  const byPoll = Map.groupBy(pages, ({ reader, poll }) => `${reader} ${poll}`);
  const polls = byPoll.values().flatMap((own) => {
    const begunMs = Math.min(...own.map((page) => page.begunMs));
    const last = own.filter(({ isLast }) => isLast);
    return last.flatMap(({ poll, ...page }) => (poll === null ? [] : [{ ...page, poll, begunMs }]));
  });
  return Map.groupBy(polls, listingOf);
}

export const isTaken = ({ status }: { status: number }): boolean => status >= 200 && status < 300;

/** The key of an endpoint and an event. */
export const nameOf = ({ endpoint, event }: { endpoint: string; event: string }): string =>
  `${endpoint} ${event}`;
