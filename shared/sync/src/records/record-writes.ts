// Inserting new records, changing those that were there, and noting those that are as they should be, which get a new time of
// synchronisation and nothing else. A change takes effect only on what was read. Writes of many records go to the database in
// a few parts at once, in the order that all pushes share.
import { duplicateIndexes, writeInChunks, type Collection } from '@integration-sync/runtime/store';
import type { Fresh, Known } from './classify.ts';
import { orderOf } from '../ids.ts';
import { allOfThem, byTheirIds, type ByIds } from './by-ids.ts';
import type { RecordDocument, Writing } from './record-document.ts';
import { isErased, statusField } from '../items/sync-status.ts';

export function openRecordWrites(records: Collection<RecordDocument>, byIds: ByIds) {
  /** One update for each. */
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
    const { matchedCount } = await records.updateMany(
      { ...byIds.these(integration, idsOf(part)), ...filter },
      update,
      byTheirIds,
    );
    return matchedCount;
  };

  return {
    /** Returns those that another push has created meanwhile: write.ts reads them again and changes them, as UPDATED. */
    async insert(fresh: readonly Fresh[], writing: Writing): Promise<Fresh[]> {
      const lost = await inParts(fresh, writing.parts, (part) => insertPart(records, part, writing));
      return lost.flat();
    },

    /** Returns those that now bear another push: it came before this one, or has changed them again since. */
    async change(known: readonly Known[], writing: Writing): Promise<Known[]> {
      const { integration, syncId } = writing;
      const matched = await inParts(known, writing.parts, (part) =>
        updateEach(part, writing, (one) => changeOf(one, writing)),
      );
      if (sumOf(matched) === known.length) return [];
      const own = await pushesOf(records, { ...byIds.these(integration, idsOf(known)), push: syncId });
      return known.filter(({ record }) => !own.has(record.internalId));
    },

    /** Notes that they are as they should be. Returns those that another push has changed since they were read. */
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
      // Those that bear a later stamp are as good as noted.
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

/**
 * What is as it should be is mostly the work of few pushes, and one command a push takes half as long as one a record.
 */
const touchedTogetherMax = 4;

const idsOf = (several: readonly Fresh[]): string[] => several.map(({ record }) => record.internalId);
const sumOf = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0);

/**
 * So many parts of about the same size, at once; one, where there is not enough to share. All pushes write in the same order,
 * so that none waits for another in a circle.
 */
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

/** Less than this is written as fast as it is sent. */
const partMin = 100;

function documentOf({ record, folded }: Fresh, { integration, syncId, at }: Writing): RecordDocument {
  return {
    _id: record.internalId,
    integration,
    externalId: record.externalId,
    fields: folded.fields,
    order: orderOf(syncId, record.place),
    push: syncId,
    lastSyncedAt: at,
    changedAt: at,
  };
}

/**
 * Takes effect only on what was read: the push that last changed it stands for everything in it, and the time of
 * synchronisation for the pushes that were acknowledged because they found it as they wanted it.
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
 * Still as it was read, or a late change would go unnoticed. Of many pushes at once only the last one need write, so
 * records with a later stamp are left alone.
 */
const touchOf = (push: string, at: Date) => ({
  filter: { push, lastSyncedAt: { $lt: at } },
  update: { $set: { lastSyncedAt: at } },
});
