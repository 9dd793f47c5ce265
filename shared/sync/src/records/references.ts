// Looks up records to which other records refer: whether they exist, and their fields. Archived records count as existing.
//
//   a linearizable read finds it    a majority has it   the record
//   ─────────────────────────────   ─────────────────   ──────────────────────────────────────────────────────────────────────
//   yes                             yes                 exists
//   yes                             not yet             is asked for again: it was just written, or the primary is new and does not
//                                                       know yet what a majority has
//   no                              no                  does not exist
import { setTimeout as wait } from 'node:timers/promises';
import { Failure } from '@integration-sync/contracts';
import { allOfThem, type FindOptions, type Store } from '@integration-sync/runtime/store';
import { LRUCache } from 'lru-cache';
import { internalIdOf } from '../ids.ts';
import type { Fields, Kind } from '../kind.ts';
import { filtersByIds } from './by-ids.ts';
import type { RecordDocument } from './record-document.ts';

export type Lookup = ReturnType<typeof openLookup>;

const rememberedMax = 100_000;

/** How long a look-up waits for a majority. */
const majorityMs = 2_000;
const majorityPollMs = 50;

/** How long a record of a kind with erase counts as existing: a second after its erase, no replica accepts a reference to it. */
export const erasableForMs = 500;

const name = (integration: string, externalId: string): string => `${integration}/${externalId}`;

/** `forMs`: how long a record that was found counts as existing; 0 is for ever, for kinds without erase. */
export function openLookup(store: Store, kind: Pick<Kind, 'plural' | 'idPrefix'>, forMs = 0) {
  const records = store.collection<RecordDocument>(kind.plural);
  const { these } = filtersByIds(store);
  // The cache is made at its first use: allocating it takes some 15 ms of CPU time, for which no start should wait.
  let cache: LRUCache<string, true> | undefined;
  const seen = (): LRUCache<string, true> =>
    (cache ??= new LRUCache({ max: rememberedMax, ttl: forMs, ttlResolution: 0 }));

  const query = async (
    integration: string,
    ids: readonly string[],
    how: Pick<FindOptions, 'readConcern' | 'maxTimeMS'>,
    fields = false,
  ) => {
    const found = await records
      .find(these(integration, ids), {
        projection: { externalId: 1, ...(fields ? { fields: 1 } : {}) },
        ...how,
        ...allOfThem(ids.length),
      })
      .toArray();
    // An erased record has no externalId, and counts as missing.
    return found.filter(({ externalId }) => externalId !== '');
  };

  const find = async (integration: string, externalIds: readonly string[], fields: boolean) => {
    const ids = externalIds.map((externalId) => internalIdOf(kind.idPrefix, integration, externalId));
    for (const endMs = performance.now() + majorityMs; ; await wait(majorityPollMs)) {
      const found = await query(integration, ids, { readConcern: 'majority' }, fields);
      const known = new Set(found.map(({ _id }) => _id));
      const missing = ids.filter((id) => !known.has(id));
      const isSettled =
        missing.length === 0 || (await query(integration, missing, store.finalRead)).length === 0;
      if (isSettled) return found;
      if (performance.now() > endMs)
        throw new Failure(
          'unavailable',
          'The database has not yet confirmed, by a majority, which referenced records exist.',
          { retryAfterSeconds: 2 },
        );
    }
  };

  return {
    /**
     * The existing records, without erased ones, by externalId, with empty fields: the cache, which has a found record for `forMs`,
     * knows only which records exist.
     */
    async existing(integration: string, externalIds: readonly string[]): Promise<Map<string, Fields>> {
      const known = externalIds.filter((externalId) => seen().get(name(integration, externalId)) === true);
      const existing = new Map<string, Fields>(known.map((externalId) => [externalId, {}]));
      const unseen = externalIds.filter((externalId) => !existing.has(externalId));
      const start = performance.now();
      const found = unseen.length === 0 ? [] : await find(integration, unseen, false);
      for (const { externalId } of found) {
        existing.set(externalId, {});
        seen().set(name(integration, externalId), true, { start });
      }
      return existing;
    },
    /** The current fields of the records, by externalId. */
    async read(integration: string, externalIds: readonly string[]): Promise<Map<string, Fields>> {
      if (externalIds.length === 0) return new Map();
      const found = await find(integration, externalIds, true);
      return new Map(found.map(({ externalId, fields }) => [externalId, fields]));
    },
  };
}
