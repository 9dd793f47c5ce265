// Noting records that are as they should be: they get a new time of synchronisation, and nothing else of them changes.
import { writeInChunks, type Collection } from '@integration-sync/runtime/store';
import type { Known } from './classify.ts';
import { allOfThem, byTheirIds, type ByIds } from './by-ids.ts';
import type { RecordDocument, Writing } from './record-document.ts';
import { byId, inParts } from './record-parts.ts';

/** Returns those that another push has changed since they were read. */
export type TouchRecords = (known: readonly Known[], writing: Writing) => Promise<Known[]>;

export function openTouching(records: Collection<RecordDocument>, byIds: ByIds): TouchRecords {
  const pushesOf = async (integration: string, ids: readonly string[]): Promise<Map<string, string>> => {
    const found = await records
      .find<Pick<RecordDocument, '_id' | 'push'>>(byIds.these(integration, ids), {
        projection: { push: 1 },
        ...allOfThem(ids.length),
      })
      .toArray();
    return new Map(found.map(({ _id, push }) => [_id, push]));
  };

  const touchTogether = (
    push: string,
    some: readonly Known[],
    { integration, at, parts }: Writing,
  ): Promise<readonly number[]> =>
    inParts(byId(some), parts, async (part) => {
      const ids = part.map(({ record }) => record.internalId);
      const { matchedCount } = await records.updateMany(
        { ...byIds.these(integration, ids), ...notedBefore(push, at) },
        { $set: { lastSyncedAt: at } },
        byTheirIds,
      );
      return matchedCount;
    });

  const touchEach = async (
    part: readonly Known[],
    { integration, at, confirm }: Writing,
  ): Promise<number> => {
    const { matchedCount } = await writeInChunks(records, part, confirm, (bulk, { record, stored }) => {
      const filter = { ...byIds.one(integration, record.internalId), ...notedBefore(stored.push, at) };
      bulk
        .find(filter)
        .hint(byTheirIds.hint)
        .updateOne({ $set: { lastSyncedAt: at } });
    });
    return matchedCount;
  };

  return async (known, writing) => {
    const byPush = Map.groupBy(known, ({ stored }) => stored.push);
    const matched = await (byPush.size <= touchedTogetherMax
      ? Promise.all([...byPush].map(([push, some]) => touchTogether(push, some, writing)))
      : inParts(byId(known), writing.parts, (part) => touchEach(part, writing)));
    if (matched.flat().reduce((sum, count) => sum + count, 0) === known.length) return [];
    // Those that bear a later stamp are as good as noted.
    const ids = known.map(({ record }) => record.internalId);
    const now = await pushesOf(writing.integration, ids);
    return known.filter(({ record, stored }) => now.get(record.internalId) !== stored.push);
  };
}

/**
 * What is as it should be is mostly the work of few pushes, and one command a push takes half as long as one a record.
 */
const touchedTogetherMax = 4;

/**
 * Still as it was read, or a late change would go unnoticed. Of many pushes at once only the last one need write, so
 * records with a later stamp are left alone.
 */
const notedBefore = (push: string, at: Date) => ({ push, lastSyncedAt: { $lt: at } });
