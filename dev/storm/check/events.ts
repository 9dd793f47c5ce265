// Compares the stream EVENTS with the answers that callers got: each event once, in order and in time, each answered push announced as
// it was answered, and no event of a run that no caller began.
import { isOfCluster } from '../fault.ts';
import type { EventLine } from '../lines.ts';
import { entityPlurals, internalIdOf, syncIdOf, type Check } from './facts.ts';
import { isItem } from './fields.ts';
import { isAcknowledged, isAnswered, isUncertain, keyOf, privatePrefix, type Push } from './push.ts';
import { openStruck } from './times.ts';

/** The events of every record, also of records that several callers pushed. */
export const checkEvents: Check = ({ events: all, records, pushes, byRecord, isPending }, report) => {
  for (const [id, { length }] of Map.groupBy(all, (event) => event.id))
    if (length > 1) report('event-twice', id);
  const uncertainKeys = new Set(
    pushes
      .filter(isUncertain)
      .flatMap(({ integration, plural, items }) =>
        items.filter(isItem).map((item) => keyOf(integration, plural, String(item['externalId']))),
      ),
  );
  for (const [key, events] of byRecord) {
    const created = events.filter((event) => event.created).length;
    if (created > 1) report('created-twice', `${key} was announced as created ${created} times`);
    const unknown = events.filter(({ push }) => push === undefined).length;
    if (!records.has(key) || (unknown > 0 && !uncertainKeys.has(key)))
      report('event-extra', `${key}: ${unknown} events of runs that no caller began`);
  }
  for (const { key, externalId, writes } of records.values()) {
    const events = byRecord.get(key) ?? [];
    const isThere = writes.some(({ acknowledged }) => acknowledged);
    if (isThere && !isPending(key) && !events.some((event) => event.created))
      report('event-missing', `${key} was never announced as created`);
    if (externalId.startsWith(privatePrefix)) continue;
    for (const { push } of writes.filter(({ acknowledged }) => acknowledged)) {
      // Every name is pushed once, so each acknowledged push of a hot record has changed it.
      const own = events.filter((event) => event.push === push.id).length;
      if (own === 1) continue;
      const what = `${key}: ${own} events of push ${push.id}, which was acknowledged`;
      report(own === 0 ? 'event-missing' : 'event-extra', what);
    }
  }
};

/** One `sync.completed` for each answered push, with its counts. */
export const checkCompleted: Check = ({ pushes, events }, report) => {
  const completed = new Map(
    events.flatMap(({ body: { data } }) => ('syncId' in data ? [[data.syncId, data] as const] : [])),
  );
  for (const { id, plural, answer, syncId } of pushes.filter(isAnswered)) {
    const said = completed.get(syncId);
    const expected = `${answer.created}, ${answer.updated}, ${answer.errors.length}`;
    const found = said && `${said.created}, ${said.updated}, ${said.failed}`;
    if (found !== expected || entityPlurals[said?.entityType ?? 'supplier'] !== plural)
      report('completed', `push ${id} (${syncId}): ${found ?? 'not announced'} instead of ${expected}`);
  }
};

/** Records that were pushed to be erased: what remains of each is its internal id, announced once. */
export const checkErased: Check = ({ pushes, listed, stored, events }, report) => {
  const shown = new Map(listed.flatMap(({ entities }) => entities.map((one) => [one[2], one])));
  const kept = new Map(stored.map((line) => [line.internalId, line]));
  const erasings = events.filter(({ body }) => body.event === 'supplier.erased');
  const told = Map.groupBy(erasings, internalIdOf);
  for (const push of pushes.filter(({ action }) => action === 'erase').filter(isAcknowledged)) {
    for (const { externalId, internalId } of push.answer?.records ?? []) {
      const [listedId, name] = shown.get(internalId) ?? [];
      const { fields = {}, externalId: storedId } = kept.get(internalId) ?? {};
      const names = Object.keys(fields).join();
      const count = told.get(internalId)?.length ?? 0;
      const isGone = listedId === '' && name === '' && storedId === '' && names === 'syncStatus';
      if (isGone && count === 1) continue;
      const is = `listed as "${listedId}" "${name}", stored as "${storedId}" with ${names}`;
      report('erased', `${externalId} (${internalId}) of push ${push.id}: ${is}, announced ${count} times`);
    }
  }
};

/** A push's events are on the stream in this order: records as pushed, drafts, `sync.completed`. Deliveries have no order. */
export const checkEventOrder: Check = ({ pushes, events, faults, toLedger }, report) => {
  const bySync = Map.groupBy(events, ({ id }) => syncIdOf(id));
  // A stream that gets another leader may lose the first of several messages and take the last.
  const isStruck = openStruck(faults.filter(isOfCluster));
  for (const push of pushes.filter(isAcknowledged)) {
    const own = bySync.get(push.syncId ?? '') ?? [];
    const inOrder = own.toSorted((one, other) => one.sequence - other.sequence);
    const places = openPlaces(push);
    const at = inOrder.findIndex((event, nth) => nth > 0 && places(event) < places(inOrder[nth - 1]));
    const [event, before] = [inOrder[at], inOrder[at - 1]];
    if (event === undefined || before === undefined) continue;
    if (isStruck(push.begunMs, toLedger(inOrder.at(-1)?.storedAt ?? ''))) continue;
    const place = `as number ${at + 1} of ${own.length}`;
    report('event-order', `push ${push.id}: ${event.id} stands behind ${before.id}, ${place}`);
  }
};

/** The position of an event among those of its push: the index of the first accepted item of the event's record. */
function openPlaces({ items, answer }: Push): (event: EventLine | undefined) => number {
  const places = new Map<string, number>();
  for (const [place, item] of items.entries()) {
    const id = isItem(item) ? String(item['externalId']) : '';
    if (!places.has(id) && answer?.records[place]?.status !== 'ERROR') places.set(id, place);
  }
  return (event) => {
    const data = event?.body.data ?? {};
    if ('syncId' in data) return Infinity;
    if ('batchExternalId' in data) return items.length + (places.get(String(data.batchExternalId)) ?? 0);
    return 'externalId' in data ? (places.get(String(data.externalId)) ?? 0) : 0;
  };
}

/** The time of an event is compared with the times of its run: it occurred within the run, and after its push began. */
export const checkEventTimes: Check = ({ bySync, events, runs }, report) => {
  const runById = new Map(runs.map(({ run }) => [run.syncId, run]));
  for (const { id, body, storedAt } of events) {
    const run = runById.get(syncIdOf(id));
    if (run === undefined) continue;
    const begunAt = bySync.get(run.syncId)?.begunAt ?? run.startedAt;
    const isWithin = body.timestamp >= run.startedAt && body.timestamp <= (run.completedAt ?? storedAt);
    if (isWithin && run.startedAt >= begunAt) continue;
    const of = `its push began at ${begunAt}, its run lasted from ${run.startedAt} to ${run.completedAt}`;
    report('event-time', `${id} is dated ${body.timestamp}; ${of}`);
  }
};
