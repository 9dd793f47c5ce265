// What the ledger says, read once for all checks. A check is one function over these facts.
import type { EntityType } from '@integration-sync/contracts';
import type { EventLine, Ledger, Plural, Sighting } from '../lines.ts';
import { readHistory, type History } from './history.ts';
import { isErased, keyOf, type Push } from './push.ts';
import { openDates, openStruck, touchesDeliveries, type IsStruck } from './times.ts';
import type { Report } from './violations.ts';

export interface Facts extends Ledger, History {
  toLedger: (date: string) => number;
  isStruck: IsStruck;
  /** Whether a fault lasted in that span that deliveries feel. */
  isDeliveryStruck: IsStruck;
  eventById: ReadonlyMap<string, EventLine>;
  /** The events of each record, each once. */
  byRecord: ReadonlyMap<string, readonly RecordEvent[]>;
  /** The listings after the storm, by record. */
  sightings: ReadonlyMap<string, Sighting>;
  /** The runs that recovery has not finished: their records may still change, and their changes be announced. */
  pendingRuns: ReadonlySet<string>;
  isPending: (key: string) => boolean;
}

export type Check = (facts: Facts, report: Report) => void;

export interface RecordEvent {
  /** The push of the event; undefined if no caller got an answer with its sync id. */
  push: Push | undefined;
  created: boolean;
  changed: readonly string[];
}

export function readFacts(ledger: Ledger): Facts {
  const history = readHistory(ledger.begun, ledger.ended);
  const eventById = new Map(ledger.events.map((event) => [event.id, event]));
  const sightings = new Map(
    ledger.listed.flatMap(({ integration, plural, entities }) =>
      entities.map((one): [string, Sighting] => [keyOf(integration, plural, one[0] || one[2]), one]),
    ),
  );
  const hashes = new Set(ledger.pending.flatMap((line) => line.hashes));
  return {
    ...ledger,
    ...history,
    toLedger: openDates(history.pushes),
    isStruck: openStruck(ledger.faults),
    isDeliveryStruck: openStruck(ledger.faults.filter(touchesDeliveries)),
    eventById,
    byRecord: eventsByRecord([...eventById.values()], history),
    sightings,
    pendingRuns: new Set(ledger.pending.map(({ syncId }) => syncId)),
    isPending: (key) => hashes.has(sightings.get(key)?.[2].split('_').at(-1) ?? ''),
  };
}

export const syncIdOf = (eventId: string): string => eventId.split('-')[0] ?? '';

export const entityPlurals: Readonly<Record<EntityType, Plural>> = {
  supplier: 'suppliers',
  product: 'products',
  batch: 'batches',
};

function eventsByRecord(events: readonly EventLine[], { bySync }: History) {
  const plurals = new Map<string, Plural>(Object.entries(entityPlurals));
  const ofRecords = events.flatMap(({ id, body }) => {
    const { data, event, integrationId } = body;
    const [noun = '', verb] = event.split('.');
    const plural = plurals.get(noun);
    if (plural === undefined || !('externalId' in data) || isErased(data.externalId)) return [];
    const key = keyOf(integrationId, plural, data.externalId);
    const ofArchive = verb === 'archived' ? ['syncStatus'] : [];
    const changed = 'changedFields' in data ? data.changedFields.toSorted() : ofArchive;
    return { key, push: bySync.get(syncIdOf(id)), created: verb === 'created', changed };
  });
  return Map.groupBy(ofRecords, ({ key }) => key);
}

export const isTaken = ({ status }: { status: number }): boolean => status >= 200 && status < 300;

/** For each endpoint and event, `name` is the key. */
export const nameOf = ({ endpoint, event }: { endpoint: string; event: string }): string =>
  `${endpoint} ${event}`;
