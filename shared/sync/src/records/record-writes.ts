// Inserts new records, updates changed records, and touches unchanged records, which get a new `lastSyncedAt` only. An update
// takes effect only on a record that is as the push read it. Writes of many records go to the database in parallel parts, in an
// order that all pushes share.
import { allOfThem, duplicateIndexes, writeInChunks, type Collection } from '@integration-sync/runtime/store';
import type { Fresh, Known } from './sort-records.ts';
import { orderOf } from '../ids.ts';
import { byTheirIds, type ByIds } from './by-ids.ts';
import type { RecordDocument, Writing } from './record-document.ts';
import { isErased, statusField } from '../items/archive-erase.ts';

export function openRecordWrites(records: Collection<RecordDocument>, byIds: ByIds) {
  /** Sends one update for each record of a part. */
  const updateEach = async (
    part: readonly Known[],
    { integration, confirm }: Writing,
    updateOf: (one: Known) => { filter: object; update: object },
  ): Promise<number> => {
    const { matchedCount } = await writeInChunks(records, part, confirm, (bulk, one) => {
      const { filter, update } = updateOf(one);
      bulk
        .find({ ...byIds.one(integration, one.record.internalId), ...filter })
        .hint(byTheirIds.hint)
        .updateOne(update);
    });
    return matchedCount;
  };

  const touchTogether = async (
    push: string,
    part: readonly Known[],
    { integration, at }: Writing,
  ): Promise<number> => {
    const { filter, update } = touchOf(push, at);
    const asRead = { ...byIds.these(integration, idsOf(part)), ...filter };
    const { matchedCount } = await records.updateMany(asRead, update, byTheirIds);
    return matchedCount;
  };

  return {
    /** Returns the records that another push has created meanwhile: write.ts reads and updates these. */
    async insert(fresh: readonly Fresh[], writing: Writing): Promise<Fresh[]> {
      const lost = await inParts(fresh, writing.parts, (part) => insertPart(records, part, writing));
      return lost.flat();
    },

    /** Returns the records that another push changed: before this update, which then changed nothing, or after it. */
    async change(known: readonly Known[], writing: Writing): Promise<Known[]> {
      const { integration, syncId } = writing;
      const matched = await inParts(known, writing.parts, (part) =>
        updateEach(part, writing, (one) => changeOf(one, writing)),
      );
      if (sumOf(matched) === known.length) return [];
      const own = await pushesOf(records, { ...byIds.these(integration, idsOf(known)), push: syncId });
      return known.filter(({ record }) => !own.has(record.internalId));
    },

    /** Touches unchanged records. Returns the records that another push has changed since this push read them. */
    async touch(known: readonly Known[], writing: Writing): Promise<Known[]> {
      const { at, parts } = writing;
      const byPush = Map.groupBy(known, ({ stored }) => stored.push);
      const matched = await (byPush.size <= touchedTogetherMax
        ? Promise.all(
            Array.from(byPush, ([push, some]) =>
              inParts(some, parts, (part) => touchTogether(push, part, writing)),
            ),
          )
        : inParts(known, parts, (part) =>
            updateEach(part, writing, ({ stored }) => touchOf(stored.push, at)),
          ));
      if (sumOf(matched.flat()) === known.length) return [];
      // A record counts as touched if another push has found it unchanged and has given it a later stamp.
      const now = await pushesOf(records, byIds.these(writing.integration, idsOf(known)));
      return known.filter(({ record, stored }) => now.get(record.internalId) !== stored.push);
    },
  };
}

async function insertPart(
  records: Collection<RecordDocument>,
  part: readonly Fresh[],
  writing: Writing,
): Promise<Fresh[]> {
  try {
    await writeInChunks(records, part, writing.confirm, (bulk, one) => bulk.insert(documentOf(one, writing)));
    return [];
  } catch (error) {
    return duplicateIndexes(error).flatMap((index) => part[index] ?? []);
  }
}

/** By internal id, the push that last changed the record. */
async function pushesOf(
  records: Collection<RecordDocument>,
  filter: ReturnType<ByIds['these']> & { push?: string },
): Promise<Map<string, string>> {
  const found = await records
    .find(filter, { projection: { push: 1 }, ...allOfThem(filter._id.$in.length) })
    .toArray();
  return new Map(found.map(({ _id, push }) => [_id, push]));
}

/** If unchanged records name this many pushes or fewer, a command per push takes half as long as one per record. */
const touchedTogetherMax = 4;

const idsOf = (several: readonly Fresh[]): string[] => several.map(({ record }) => record.internalId);
const sumOf = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0);

/** Calls `run` for up to `parts` parallel parts. All pushes write in the same order, so that they cannot deadlock. */
async function inParts<One extends Fresh, Result>(
  all: readonly One[],
  parts: number,
  run: (part: readonly One[]) => Promise<Result>,
): Promise<Result[]> {
  const sorted = all.toSorted((one, other) => (one.record.internalId < other.record.internalId ? -1 : 1));
  const size = Math.max(Math.ceil(all.length / parts), partMin);
  const starts = Array.from({ length: Math.ceil(all.length / size) }, (_, nth) => nth * size);
  return Promise.all(starts.map((start) => run(sorted.slice(start, start + size))));
}

/** The fewest records of a part: smaller parts would not be written faster. */
const partMin = 100;

function documentOf({ record, folded }: Fresh, { integration, syncId, at }: Writing): RecordDocument {
  return {
    _id: record.internalId,
    integration,
    externalId: record.externalId,
    fields: folded.fields,
    order: orderOf(syncId, record.ordinal),
    push: syncId,
    lastSyncedAt: at,
    changedAt: at,
  };
}

/**
 * Compare-and-set: the update matches only the record as it was read. `push` is different after any change of a field,
 * and `lastSyncedAt` after a push that found the record unchanged.
 */
function changeOf({ record, folded, stored }: Known, { syncId, at }: Writing) {
  const { fields, changes } = folded;
  const set: Record<string, unknown> = { push: syncId, changed: [...changes.keys()] };
  const unset: Record<string, ''> = {};
  if (changes.has(statusField)) {
    set['fields'] = fields;
    set['externalId'] = isErased(fields) ? '' : record.externalId;
  } else {
    for (const [name, value] of changes) {
      if (value === undefined) unset[`fields.${name}`] = '';
      else set[`fields.${name}`] = value;
    }
  }
  return {
    filter: { push: stored.push, lastSyncedAt: stored.lastSyncedAt },
    update: {
      $set: set,
      $max: { lastSyncedAt: at, changedAt: at },
      ...(Object.keys(unset).length === 0 ? {} : { $unset: unset }),
    },
  };
}

/**
 * Touches a record only while its `push` is the one that was read, so that a change by another push is noticed. A
 * record with a later stamp is left alone, because only the last of many pushes needs to write.
 */
const touchOf = (push: string, at: Date) => ({
  filter: { push, lastSyncedAt: { $lt: at } },
  update: { $set: { lastSyncedAt: at } },
});
