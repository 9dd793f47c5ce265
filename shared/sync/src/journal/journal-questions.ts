// Queries of the journal over several entries. They change no entry.
import type { EntityType } from '@integration-sync/contracts';
import type { Filter } from '@integration-sync/runtime/store';
import type { Entries, Entry } from './journal-entry.ts';
import { unannounced, unsettled } from './journal-pushes.ts';

/** How many entries are counted at most, because counting must not burden the database after an outage. */
const backlogMax = 10_000;
/** MongoDB adds up this many pushes in a few milliseconds. A load of 750,000 records has as many, with 500 records each. */
const addedUpMax = 1_500;

export function openJournalQuestions(entries: Entries) {
  const among = async (syncIds: readonly string[], rule: Filter<Entry>): Promise<Set<string>> => {
    if (syncIds.length === 0) return new Set();
    const found = await entries
      .find({ _id: { $in: [...syncIds] }, ...rule }, { projection: { _id: 1 } })
      .toArray();
    return new Set(found.map(({ _id }) => _id));
  };

  return {
    /** Which of these pushes may have done more than their entries say. */
    unsettledAmong: (syncIds: readonly string[]) => among(syncIds, unsettled),
    /** Which of these pushes may have events that are not published yet. */
    unannouncedAmong: (syncIds: readonly string[]) => among(syncIds, unannounced),
    /** Which of these pushes may have records that the watermarks have not counted yet. */
    pendingAmong: (syncIds: readonly string[]) =>
      among(syncIds, { due: { $exists: true }, watched: { $exists: false } }),
    /** By sync id, the packed internal ids of the records of each push that still writes. */
    async idsOf(syncIds: readonly string[]): Promise<Map<string, Uint8Array>> {
      const writing = { _id: { $in: [...syncIds] }, state: 'writing' } as const;
      const found = await entries.find(writing, { projection: { ids: 1 }, promoteBuffers: true }).toArray();
      return new Map(found.flatMap(({ _id, ids }) => (ids === undefined ? [] : [[_id, ids]])));
    },
    /** How many records the integration's pushes after this sync id have created; undefined if there are too many such pushes. */
    async createdAfter(
      syncId: string,
      { integration, entityType }: Pick<Entry, 'integration' | 'entityType'>,
    ): Promise<number | undefined> {
      const found = await entries
        .aggregate<{ _id: EntityType; pushes: number; created: number }>(
          [
            { $match: { integration, _id: { $gt: syncId } } },
            { $limit: addedUpMax },
            { $group: { _id: '$entityType', pushes: { $sum: 1 }, created: { $sum: '$created' } } },
          ],
          { hint: 'history' },
        )
        .toArray();
      if (found.reduce((sum, { pushes }) => sum + pushes, 0) === addedUpMax) return undefined;
      return found.find(({ _id }) => _id === entityType)?.created ?? 0;
    },
    /** How many pushes are not announced yet, and since when. */
    async backlog() {
      const [found] = await entries
        .aggregate<{ count: number; oldestAt: Date }>(
          [
            { $match: { due: { $gt: new Date(0) }, watched: { $exists: false } } },
            { $limit: backlogMax },
            { $group: { _id: null, count: { $sum: 1 }, oldestAt: { $min: '$startedAt' } } },
          ],
          { hint: 'left-behind' },
        )
        .toArray();
      return found ?? { count: 0, oldestAt: undefined };
    },
    /** The sync ids of the integration's pushes that have written and may not be announced yet, up to `countMax`. */
    async unannounced(integration: string, countMax: number): Promise<string[]> {
      const found = await entries
        .find({ due: { $gt: new Date(0) }, integration, state: 'written' }, { projection: { _id: 1 } })
        .hint('left-behind')
        .limit(countMax)
        .toArray();
      return found.map(({ _id }) => _id);
    },
  };
}
