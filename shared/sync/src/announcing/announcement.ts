// Makes the events of one push from its journal entry alone, so that each replica makes the same bytes in the same order. Unchanged
// records have no event; they are UPDATED in the answer (items/push-answer.ts), with a new lastSyncedAt (records/record-writes.ts).
import {
  eventId,
  eventSubject,
  type Begin,
  type EntityType,
  type EventBody,
  type EventKind,
  type EventMessage,
} from '@integration-sync/contracts';
import type { Action } from '../action.ts';
import type { Counts } from '../items/push-answer.ts';
import type { WrittenDraft } from '../records/drafts.ts';
import type { Outcome } from '../records/push-outcome.ts';

export interface Announcement {
  syncId: string;
  action: Action;
  integration: string;
  traceparent?: string | undefined;
  entityType: EntityType;
  counts: Counts;
  startedAt: Date;
  completedAt: Date;
  /** The records of the push, by `ordinal`. Unchanged records get no event. */
  records: readonly AnnouncedRecord[];
}

export interface AnnouncedRecord {
  ordinal: number;
  internalId: string;
  externalId: string;
  outcome: Outcome;
  /** Whether another push has overwritten the record before recovery completed this push. */
  isOverwritten?: boolean;
  /** The draft of the record; absent if the push did not write the draft. */
  draft?: Pick<WrittenDraft, 'entry' | 'made' | 'changed'> & {
    /** Whether another push has overwritten the draft before recovery completed this push. */
    isOverwritten?: boolean;
  };
}

interface Alike {
  subject: string;
  /** The body of an event up to its data. */
  head: string;
  begin: Begin;
}

/** The beginning of the JSON of `data`, up to its first value: the id of a record, a statement or a push. */
const dataBegin = /^\{"\w+":"/;

/** Makes the messages of a push that have this time. */
function messagesAt(
  timestamp: string,
  { syncId, integration }: Pick<Announcement, 'syncId' | 'integration'>,
) {
  /** By kind of event: the subject, and the beginnings of id and body, which are the same for all records of the push. */
  const alike = new Map<EventKind, Alike>();
  const makeAlike = (event: EventKind, id: string, data: string): Alike => {
    const before: Omit<EventBody, 'data'> = { event, timestamp, integrationId: integration };
    const head = `${JSON.stringify(before).slice(0, -1)},"data":`;
    const [begun = ''] = dataBegin.exec(data) ?? [];
    const begin = { id: id.slice(0, id.lastIndexOf('-') + 1), body: `${head}${begun}` };
    const made = { subject: eventSubject(integration, event), head, begin };
    alike.set(event, made);
    return made;
  };
  return <Kind extends EventKind>(
    event: Kind,
    what: Parameters<typeof eventId>[1],
    data: EventBody<Kind>['data'],
  ): EventMessage => {
    const id = eventId(syncId, what);
    const text = JSON.stringify(data);
    const { subject, head, begin } = alike.get(event) ?? makeAlike(event, id, text);
    return { subject, id, body: `${head}${text}}`, begin };
  };
}

export function makeEvents(announcement: Announcement): EventMessage[] {
  const { syncId, action, entityType, counts, records } = announcement;
  const startedAt = announcement.startedAt.toISOString();
  const timestamp = announcement.completedAt.toISOString();
  const message = messagesAt(timestamp, announcement);
  /** Has the begin of the push as its time: the event of a push that has overwritten the record or draft has a later time. */
  const overwritten = messagesAt(startedAt, announcement);

  const ofRecord = ({ ordinal, externalId, internalId, outcome, isOverwritten = false }: AnnouncedRecord) => {
    const { created, changed } = outcome;
    const tell = isOverwritten ? overwritten : message;
    const named = { externalId, internalId };
    if (created) return tell(`${entityType}.created`, `created-${ordinal}`, named);
    if (changed.length === 0) return undefined;
    if (action === 'archive') return tell(`${entityType}.archived`, `archived-${ordinal}`, named);
    // The event of an erase has only the internal id of the record, because the externalId is erased too.
    if (action === 'erase')
      return tell('supplier.erased', `erased-${ordinal}`, { externalId: '', internalId });
    return tell(`${entityType}.updated`, `updated-${ordinal}`, { ...named, changedFields: [...changed] });
  };
  const ofRecords = records.flatMap((record) => {
    const made = ofRecord(record);
    if (made === undefined) return [];
    // Of an erased record the event would have no externalId, and a restored record is not archived.
    const isOmitted =
      record.externalId === '' ? action !== 'erase' : action === 'archive' && record.isOverwritten;
    return isOmitted === true ? { ...made, isOmitted } : made;
  });
  const ofDrafts = records.flatMap(({ ordinal, draft }) => {
    if (draft === undefined) return [];
    const { entry, made, changed, isOverwritten = false } = draft;
    const tell = isOverwritten ? overwritten : message;
    if (made) return tell('dds.created', `drafted-${ordinal}`, entry);
    if (changed.length === 0) return [];
    return tell('dds.updated', `redrafted-${ordinal}`, { ...entry, changedFields: [...changed] });
  });
  const completed = message('sync.completed', 'completed', {
    syncId,
    entityType,
    created: counts.created,
    updated: counts.updated,
    failed: counts.failed,
    startedAt,
    completedAt: timestamp,
  });
  return [...ofRecords, ...ofDrafts, completed];
}
