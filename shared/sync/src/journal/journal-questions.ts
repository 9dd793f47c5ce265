// What the journal says about several entries at once. It changes none of them.
import type { Filter } from '@integration-sync/runtime/store';
import type { Entries, Entry } from './journal-entry.ts';
import { unsettled } from './journal-pushes.ts';

/** Pushes that are not announced yet. */
export interface Backlog {
  count: number;
  oldestAt: Date | undefined;
}

/** Counting must not become a burden itself, after an outage. */
const backlogMax = 10_000;

export function openJournalQuestions(entries: Entries) {
  const among = async (syncIds: readonly string[], rule: Filter<Entry>): Promise<Set<string>> => {
    if (syncIds.length === 0) return new Set();
    const found = await entries
      .find({ _id: { $in: [...syncIds] }, ...rule }, { projection: { _id: 1 } })
      .toArray();
    return new Set(found.map(({ _id }) => _id));
  };

  return {
    /** Those of which what they did may still have to be found out. */
    unsettledAmong: (syncIds: readonly string[]) => among(syncIds, unsettled),
    /** Those whose records their watermarks have not counted yet. */
    pendingAmong: (syncIds: readonly string[]) =>
      among(syncIds, { due: { $exists: true }, watched: { $exists: false } }),
    /** By sync id, the packed ids of the records that these pushes speak of, as long as there may be something to write. */
    async idsOf(syncIds: readonly string[]): Promise<Map<string, Uint8Array>> {
      const found = await entries
        .find(
          { _id: { $in: [...syncIds] }, state: 'writing' },
          { projection: { ids: 1 }, promoteBuffers: true },
        )
        .toArray();
      return new Map(found.flatMap(({ _id, ids }) => (ids === undefined ? [] : [[_id, ids]])));
    },
    async backlog(): Promise<Backlog> {
      const [found] = await entries
        .aggregate<Omit<Backlog, 'oldestAt'> & { oldestAt: Date }>(
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
    /** Pushes of the integration that were answered and may not be announced yet: all that are, up to so many. */
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
