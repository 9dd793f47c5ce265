// Checks the stream EVENTS against the answers that callers got: each event once, each answered push announced as it
// was answered, and no event of a run that no caller began.
import type { EventLine, SyncRunCounts } from '../lines.ts';
import { isErased } from './erased.ts';
import { keyOf, privatePrefix, type History } from './history.ts';
import { isAcknowledged, isUncertain, type Push } from './push.ts';
import { entityPlurals, pluralOf } from './kinds.ts';
import type { Report } from './violations.ts';

export interface RecordEvent {
  /** The push of the event; undefined if no caller got an answer with its sync id. */
  push: Push | undefined;
  created: boolean;
  changed: readonly string[];
}

export interface StreamFacts {
  byRecord: ReadonlyMap<string, readonly RecordEvent[]>;
  /** By sync id, what `sync.completed` says. */
  completed: ReadonlyMap<string, SyncRunCounts>;
}

export function readStream(lines: readonly EventLine[], { bySync }: History, report: Report): StreamFacts {
  const byRecord = new Map<string, RecordEvent[]>();
  const completed = new Map<string, SyncRunCounts>();
  const seen = new Set<string>();
  for (const { id, body, subject } of lines) {
    if (seen.has(id)) {
      report({ class: 'event-twice', what: `${id} (${subject})` });
      continue;
    }
    seen.add(id);
    const { data, integrationId } = body;
    if ('syncId' in data) completed.set(data.syncId, data);
    const plural = pluralOf(body.event);
    if (plural === undefined || !('externalId' in data) || isErased(data.externalId)) continue;
    const key = keyOf(integrationId, plural, data.externalId);
    const events = byRecord.get(key) ?? [];
    const isArchived = body.event.endsWith('.archived');
    const changed =
      'changedFields' in data ? data.changedFields.toSorted() : isArchived ? ['syncStatus'] : [];
    events.push({ push: bySync.get(syncIdOf(id)), created: body.event.endsWith('.created'), changed });
    byRecord.set(key, events);
  }
  return { byRecord, completed };
}

export const syncIdOf = (eventId: string): string => eventId.split('-')[0] ?? '';

/** Checks the events of every record, also of records that several callers pushed. */
export function checkEvents(
  { records, pushes }: History,
  { byRecord }: StreamFacts,
  { isPending, report }: { isPending: (key: string) => boolean; report: Report },
): void {
  const uncertainIds = new Set(
    pushes
      .filter(isUncertain)
      .flatMap((push) =>
        push.items.map((item) => `${push.integration}/${push.plural}/${externalIdOf(item)}`),
      ),
  );
  for (const [key, events] of byRecord) {
    const record = records.get(key);
    const created = events.filter((event) => event.created).length;
    if (created > 1)
      report({ class: 'created-twice', what: `${key} was announced as created ${created} times` });
    const unknown = events.filter(({ push }) => push === undefined).length;
    if (record === undefined || (unknown > 0 && !uncertainIds.has(key))) {
      report({ class: 'event-extra', what: `${key}: ${unknown} events of runs that no caller began` });
    }
  }
  for (const record of records.values()) {
    const events = byRecord.get(record.key) ?? [];
    const isThere = record.writes.some(({ acknowledged }) => acknowledged);
    if (isThere && !isPending(record.key) && !events.some((event) => event.created)) {
      report({ class: 'event-missing', what: `${record.key} was never announced as created` });
    }
    if (record.externalId.startsWith(privatePrefix)) continue;
    for (const { push, acknowledged } of record.writes) {
      // Every name is pushed once, so each acknowledged push of a hot record has changed it.
      const own = events.filter((event) => event.push === push).length;
      if (acknowledged && own !== 1) {
        const what = `${record.key}: ${own} events of push ${push.id}, which was acknowledged`;
        report({ class: own === 0 ? 'event-missing' : 'event-extra', what });
      }
    }
  }
}

const externalIdOf = (item: unknown): string =>
  typeof item === 'object' && item !== null && 'externalId' in item ? String(item.externalId) : '';

/** One `sync.completed` for each answered push, with its counts. */
export function checkCompleted(
  { pushes }: Pick<History, 'pushes'>,
  { completed }: Pick<StreamFacts, 'completed'>,
  report: Report,
): void {
  for (const push of pushes) {
    const { answer, syncId } = push;
    if (!isAcknowledged(push) || answer === undefined || syncId === undefined) continue;
    const said = completed.get(syncId);
    const expected = `${answer.created}, ${answer.updated}, ${answer.errors.length}`;
    const found = said && `${said.created}, ${said.updated}, ${said.failed}`;
    if (found !== expected || entityPlurals[said?.entityType ?? 'supplier'] !== push.plural) {
      report({
        class: 'completed',
        what: `push ${push.id} (${syncId}): ${found ?? 'not announced'} instead of ${expected}`,
      });
    }
  }
}
