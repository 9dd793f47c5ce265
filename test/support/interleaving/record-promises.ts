// What holds once all pushes, archivings and erasings of records have ended, in whatever order their operations ran.
import { isDeepStrictEqual } from 'node:util';
import type { Store } from '@integration-sync/runtime/store';
import { expect } from 'vitest';
import { internalIdOf } from '../../../shared/sync/src/ids.ts';
import type { Entry } from '../../../shared/sync/src/journal/journal-entry.ts';
import { collectionNames } from '../../../shared/sync/src/names.ts';
import type { RecordDocument } from '../../../shared/sync/src/records/record-document.ts';
import { type Watermark, watermarkKey } from '../../../shared/sync/src/watermarks.ts';
import type { SeenEvent } from '../sync.ts';
import type { Fields, Records } from './mirrors.ts';
import type { Call, Item, Pushes, Served } from './pushes.ts';

/** What a call does to one record. */
interface Change {
  call: Call;
  item: Item;
}

const changesOf = (externalId: string, calls: readonly Call[]): Change[] =>
  calls.flatMap((call) =>
    call.asked.items.filter((item) => item.externalId === externalId).map((item) => ({ call, item })),
  );

function fieldsAfter({ call: { asked }, item }: Change, before: Fields | undefined): Fields | undefined {
  if (asked.action === 'archive') return before && { syncStatus: 'ARCHIVED', ...before };
  if (asked.action === 'erase') return before && { syncStatus: 'ERASED' };
  const { externalId: _externalId, ...pushed } = item;
  const merged = Object.entries({ ...before, syncStatus: null, ...pushed });
  return Object.fromEntries(merged.filter(([, value]) => value !== null));
}

/** Writes of a call without an answer may arrive late: they create a record that a later call has not found. */
const isBefore = (earlier: Call, { call: { begunAt, answered }, item }: Change): boolean =>
  earlier.endedAt < begunAt &&
  (earlier.answered !== undefined ||
    answered?.errors?.some(({ externalId }) => externalId === item.externalId) !== true);

/** Whether an order of the changes that time allows leads to the fields. Only what `hasHappened` must be in the order. */
function isExplained(
  fields: Fields | undefined,
  changes: readonly Change[],
  hasHappened: (call: Call) => boolean,
): boolean {
  const leads = (before: Fields | undefined, left: readonly Change[]): boolean =>
    (!left.some(({ call }) => hasHappened(call)) && isDeepStrictEqual(before, fields)) ||
    left.some((one) => {
      if (left.some(({ call }) => isBefore(call, one))) return false;
      const rest = left.filter((other) => other !== one);
      return leads(fieldsAfter(one, before), rest) || (!hasHappened(one.call) && leads(before, rest));
    });
  return leads(undefined, changes);
}

/** Each record has the fields to which the calls lead. */
function expectExplained(
  what: string,
  records: Records,
  { calls, idOf }: { calls: readonly Call[]; idOf: (externalId: string) => string },
  hasHappened = ({ answered }: Call): boolean => answered !== undefined,
): void {
  const externalIds = new Set(calls.flatMap(({ asked }) => asked.items.map((item) => item.externalId)));
  for (const externalId of externalIds) {
    const fields = records.get(idOf(externalId));
    const changes = changesOf(externalId, calls);
    const seen = changes.map(({ call: { asked, begunAt, endedAt, answered } }) => ({
      ...asked,
      time: [begunAt, endedAt],
      isAnswered: answered !== undefined,
    }));
    if (!isExplained(fields, changes, hasHappened))
      throw new Error(`${externalId} ${what} is ${JSON.stringify(fields)} after ${JSON.stringify(seen)}`);
  }
}

/** One event tells the last change of a record, and one that it was created, unless it may have been erased before that event. */
function expectTold(
  { _id, push, fields }: RecordDocument,
  events: readonly SeenEvent[],
  mayBeErased: boolean,
): void {
  const told = events.filter(({ body: { data } }) => 'internalId' in data && data.internalId === _id);
  const created = told.filter(({ body }) => body.event === 'supplier.created').length;
  expect(mayBeErased ? [0, 1] : [1]).toContain(created);
  const last = told.filter(({ id }) => id.startsWith(`${push}-`)).map(({ body }) => body.event);
  const { syncStatus = 'CREATED|UPDATED' } = fields;
  expect(last).toEqual([expect.stringMatching(new RegExp(`^supplier\\.(${String(syncStatus)})$`, 'i'))]);
  for (const { body } of told)
    expect('externalId' in body.data && body.data.externalId === '').toBe(body.event === 'supplier.erased');
}

/** The run of an answered call has the counts of the answer and of one event, and never changes. */
function expectCounts({ answered, runs }: Call, events: readonly SeenEvent[]): void {
  if (answered === undefined) return;
  const { syncId, created = 0, updated, archived, erased, errors = [] } = answered;
  const counts = { created, updated: updated ?? archived ?? erased, failed: errors.length };
  const completed = events.filter(({ id, body }) => id.startsWith(syncId) && body.event === 'sync.completed');
  expect(completed.map(({ body }) => body.data)).toEqual([expect.objectContaining({ syncId, ...counts })]);
  const run = { ...runs[0], ...counts };
  expect(runs).toEqual(runs.map(() => run));
}

export async function expectPromises(store: Store, { service, kind }: Served, world: Pushes): Promise<void> {
  const { integration, calls, mirrors } = world;
  for (const nth of mirrors.keys()) {
    await world.poll(nth);
    await world.flow();
  }
  await world.lookAtRuns();
  const names = collectionNames(service);
  const records = await store.collection<RecordDocument>(kind.plural).find({ integration }).toArray();
  const watermark = await store
    .collection<Watermark>(names.watermarks)
    .findOne({ _id: watermarkKey(integration, kind.plural) });
  const { total = 0, open = {} } = watermark ?? {};
  expect({ total, open }).toEqual({ total: records.length, open: {} });
  const runs = await store.collection<Entry>(names.journal).find({ integration }).toArray();
  expect(runs.filter(({ state }) => state !== 'announced')).toEqual([]);

  const idOf = (externalId: string): string => internalIdOf(kind.idPrefix, integration, externalId);
  const events = world.events();
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  for (const call of calls) expectCounts(call, events);
  for (const record of records) {
    const mayBeErased = calls.some(
      ({ asked: { action, items } }) =>
        action === 'erase' && items.some(({ externalId }) => idOf(externalId) === record._id),
    );
    expectTold(record, events, mayBeErased);
    expect(record.externalId === '').toBe(record.fields['syncStatus'] === 'ERASED');
  }

  const stored: Records = new Map(records.map(({ _id, fields }) => [_id, fields]));
  expectExplained('in MongoDB', stored, { calls, idOf });
  for (const { name, isWalking, records: mirrored, walks } of mirrors) {
    expect([name, isWalking, mirrored]).toEqual([name, false, stored]);
    for (const { begunAt, endedAt, records: walked } of walks) {
      const begun = calls.filter((call) => call.begunAt < endedAt);
      const hasHappened = (call: Call): boolean => call.answered !== undefined && call.endedAt < begunAt;
      expectExplained(`in ${name}`, walked, { calls: begun, idOf }, hasHappened);
    }
  }
}
