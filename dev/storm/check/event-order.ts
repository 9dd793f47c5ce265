// The order of a push's events on the stream, and their times: records in the order of the push, then drafts, and
// `sync.completed` last.
// Receivers are promised no order, so it is judged on the stream.
import { clusterTargets } from '../fault.ts';
import type { EventLine } from '../lines.ts';
import { syncIdOf, type Check } from './facts.ts';
import { isItem } from './fields.ts';
import { isAcknowledged, type Push } from './push.ts';
import { openStruck } from './times.ts';

const ofCluster = new Set<string>(clusterTargets);

export const checkEventOrder: Check = ({ pushes, events, faults, toLedger }, report) => {
  const bySync = Map.groupBy(events, ({ id }) => syncIdOf(id));
  // A stream that gets another leader may lose the first of several messages and take the last.
  const isStruck = openStruck(faults.filter(({ target }) => ofCluster.has(target)));
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

/** The place of an event among those of its push: that of the first accepted item of the event's record. */
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

/** The time of an event beside those of its run: it occurred within the run, and after its push began. */
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
