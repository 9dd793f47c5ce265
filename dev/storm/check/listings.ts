// The listings after the storm: every acknowledged record, once, counted rightly, under one internal id, with the fields that a
// caller pushed.
import type { Check, Facts } from './facts.ts';
import { applyItems, worldOf, worldText } from './fields.ts';
import type { RecordHistory, Write } from './history.ts';
import { isAnswered, isErased, keyOf, listingOf } from './push.ts';
import type { Report } from './violations.ts';

export const checkListings: Check = ({ records, listed, sightings, isPending }, report) => {
  for (const { key, writes } of records.values()) {
    const newest = writes.findLast(({ acknowledged }) => acknowledged)?.push;
    if (newest === undefined) continue;
    const [, , , syncedAt] = sightings.get(key) ?? [];
    if (syncedAt === undefined) report('lost', `${key} of push ${newest.id} is not listed`);
    else if (Date.parse(syncedAt) < Date.parse(newest.begunAt))
      report('time', `${key} says ${syncedAt}; push ${newest.id} began at ${newest.begunAt}`);
  }
  for (const [key, [externalId]] of sightings)
    if (!records.has(key) && !isErased(externalId))
      report('invented', `${key} is listed, and no caller pushed it`);
  for (const [listing, pages] of Map.groupBy(listed, listingOf)) {
    const ids = pages.flatMap(({ entities }) => entities.map(([externalId, , id]) => externalId || id));
    for (const [id, { length }] of Map.groupBy(ids, (one) => one))
      if (length > 1) report('pages', `${listing}/${id} stands on two pages of one walk`);
    const totals = new Set(pages.map(({ total }) => total));
    const off = Math.max(...[...totals].map((total) => Math.abs(total - ids.length)));
    const pending = [...sightings.keys()].filter((key) => key.startsWith(`${listing}/`) && isPending(key));
    if (off > pending.length)
      report('total', `${listing}: total ${[...totals].join()} of ${ids.length} that are listed`);
  }
};

/** A record has the same internal id in all answers and listings, and is CREATED in one answer. */
export const checkIdentities: Check = ({ pushes, records, sightings }, report) => {
  const idByKey = new Map([...sightings].map(([key, sighting]) => [key, sighting[2]]));
  const keyById = new Map([...idByKey].map(([key, id]) => [id, key]));
  const createdBy = new Map<string, string>();
  for (const push of pushes.filter(isAnswered)) {
    for (const { externalId, internalId, status } of push.answer.records) {
      if (status === 'ERROR' || isErased(externalId)) continue;
      const key = keyOf(push.integration, push.plural, externalId);
      const known = idByKey.get(key) ?? internalId;
      idByKey.set(key, known);
      if (known !== internalId || (keyById.get(internalId) ?? key) !== key)
        report('internal-id', `${key}: ${internalId} in push ${push.id}, ${known} elsewhere`);
      keyById.set(internalId, key);
      if (status !== 'CREATED') continue;
      const before = createdBy.get(key);
      if (before !== undefined) report('created-twice', `${key}: by ${before} and ${push.id}`);
      createdBy.set(key, push.id);
    }
  }
  for (const { key, writes } of records.values())
    if (!createdBy.has(key) && writes.every(({ acknowledged }) => acknowledged))
      report('created-twice', `${key} was acknowledged and never CREATED`);
};

/** A record that several callers pushed: its fields must all be from the push whose name it has. */
export function checkHotFields(
  { key, plural, writes }: RecordHistory,
  { documents, sightings }: Facts,
  report: Report,
): void {
  const [document, shown] = [documents.get(key), sightings.get(key)];
  if (document === undefined || shown === undefined) return;
  const found = worldText(worldOf(document.fields));
  const named = writes.filter(({ items }) => Object.values(items.at(-1) ?? {}).includes(shown[1]));
  const textOf = ({ items }: Write): string => worldText(applyItems(plural, undefined, items.slice(-1)));
  if (named.some((write) => textOf(write) === found)) return;
  const pushed = named.map((write) => `${textOf(write)} (${write.push.id})`).join(', ');
  report('fields', `${key} holds ${found}, and "${shown[1]}" was pushed with ${pushed}`);
}
