// The listings after the storm: every acknowledged record, once, counted rightly, under one internal id, with
// the fields that a caller pushed.
import type { ListedLine, Sighting, StoredLine } from '../lines.ts';
import { isErased } from './erased.ts';
import { applyItems, worldOf, worldText } from './fields.ts';
import { keyOf, type History, type RecordHistory } from './history.ts';
import { isAcknowledged } from './push.ts';
import type { Report } from './violations.ts';

/** The last listing, by record. */
export function readListings(lines: readonly ListedLine[], report: Report): Map<string, Sighting> {
  const listed = new Map<string, Sighting>();
  for (const { integration, plural, entities } of lines) {
    for (const sighting of entities) {
      const key = keyOf(integration, plural, sighting[0] || sighting[2]);
      if (listed.has(key)) report({ class: 'pages', what: `${key} stands on two pages of one walk` });
      listed.set(key, sighting);
    }
  }
  return listed;
}

export function checkListings(
  { records }: Pick<History, 'records'>,
  { lines, listed }: { lines: readonly ListedLine[]; listed: ReadonlyMap<string, Sighting> },
  { pendingOf, report }: { pendingOf: (listing: string) => number; report: Report },
): void {
  for (const record of records.values()) {
    const newest = record.writes.findLast(({ acknowledged }) => acknowledged);
    if (newest === undefined) continue;
    const sighting = listed.get(record.key);
    if (sighting === undefined) {
      report({ class: 'lost', what: `${record.key} of push ${newest.push.id} is not listed` });
    } else if (Date.parse(sighting[3]) < Date.parse(newest.push.begunAt)) {
      const what = `${record.key} says ${sighting[3]}; push ${newest.push.id} began at ${newest.push.begunAt}`;
      report({ class: 'time', what });
    }
  }
  for (const [key, [externalId]] of listed) {
    if (!records.has(key) && !isErased(externalId))
      report({ class: 'invented', what: `${key} is listed, and no caller pushed it` });
  }
  for (const [listing, pages] of Map.groupBy(
    lines,
    ({ integration, plural }) => `${integration}/${plural}`,
  )) {
    const shown = pages.reduce((sum, { entities }) => sum + entities.length, 0);
    const totals = new Set(pages.map(({ total }) => total));
    const off = Math.max(...[...totals].map((total) => Math.abs(total - shown)));
    if (off > pendingOf(listing)) {
      report({ class: 'total', what: `${listing}: total ${[...totals].join()} of ${shown} that are listed` });
    }
  }
}

/** Checks that a record has the same internal id in all answers and listings, and is CREATED in one answer. */
export function checkIdentities(
  { pushes, records }: History,
  listed: ReadonlyMap<string, Sighting>,
  report: Report,
): void {
  const idByKey = new Map([...listed].map(([key, sighting]) => [key, sighting[2]]));
  const keyById = new Map([...idByKey].map(([key, id]) => [id, key]));
  const createdBy = new Map<string, string>();
  for (const push of pushes) {
    for (const { externalId, internalId, status } of push.answer?.records ?? []) {
      if (!isAcknowledged(push) || status === 'ERROR' || isErased(externalId)) continue;
      const key = keyOf(push.integration, push.plural, externalId);
      const known = idByKey.get(key) ?? internalId;
      idByKey.set(key, known);
      if (known !== internalId || (keyById.get(internalId) ?? key) !== key) {
        report({
          class: 'internal-id',
          what: `${key}: ${internalId} in push ${push.id}, ${known} elsewhere`,
        });
      }
      keyById.set(internalId, key);
      if (status !== 'CREATED') continue;
      const before = createdBy.get(key);
      if (before !== undefined)
        report({ class: 'created-twice', what: `${key}: by ${before} and ${push.id}` });
      createdBy.set(key, push.id);
    }
  }
  for (const record of records.values()) {
    if (createdBy.has(record.key) || record.writes.some(({ acknowledged }) => !acknowledged)) continue;
    report({ class: 'created-twice', what: `${record.key} was acknowledged and never CREATED` });
  }
}

/** Checks a record that several callers pushed: its fields must all be of the push whose name it has. */
export function checkHotFields(
  record: RecordHistory,
  stored: StoredLine | undefined,
  name: string,
  report: Report,
): void {
  if (stored === undefined) return;
  const found = worldText(worldOf(stored.fields));
  const expected = record.writes
    .filter(({ items }) => Object.values(items.at(-1) ?? {}).includes(name))
    .map(({ items, push }) => ({
      push,
      text: worldText(applyItems(record.plural, undefined, items.slice(-1))),
    }));
  if (expected.some(({ text }) => text === found)) return;
  report({
    class: 'fields',
    what: `${record.key} holds ${found}, and "${name}" was pushed with ${expected.map(({ push, text }) => `${text} (${push.id})`).join(', ')}`,
  });
}
