// Whether records are there, archived ones included, and what they hold, for those who point at them.
import type { Store } from '@integration-sync/runtime/store';
import { LRUCache } from 'lru-cache';
import { internalIdOf } from '../ids.ts';
import type { Fields, Kind } from '../kind.ts';
import { allOfThem, filtersByIds } from './by-ids.ts';
import type { RecordDocument } from './record-document.ts';

export type Lookup = ReturnType<typeof openLookup>;

const rememberedMax = 100_000;

/** Where records can be erased: no reference to one of them is satisfied a second later, on any replica. */
export const erasableForMs = 500;

const name = (integration: string, externalId: string): string => `${integration}/${externalId}`;

/** `forMs` says how long a record that was seen counts as there: 0, for ever, where none is ever erased. */
export function openLookup(store: Store, kind: Pick<Kind, 'plural' | 'idPrefix'>, forMs = 0) {
  // Only what a majority has: anything else might be undone when a server is lost.
  const records = store.collection<RecordDocument>(kind.plural);
  const { these } = filtersByIds(store);
  // Made when it is first needed: its room takes some 15 ms of processor time, which no start has to wait for.
  let cache: LRUCache<string, true> | undefined;
  const seen = (): LRUCache<string, true> =>
    (cache ??= new LRUCache({ max: rememberedMax, ttl: forMs, ttlResolution: 0 }));

  const find = async (integration: string, externalIds: readonly string[], fields: boolean) => {
    const ids = externalIds.map((externalId) => internalIdOf(kind.idPrefix, integration, externalId));
    const found = await records
      .find(these(integration, ids), {
        projection: { externalId: 1, ...(fields ? { fields: 1 } : {}) },
        readConcern: 'majority',
        ...allOfThem(ids.length),
      })
      .toArray();
    // An erased one does not say what it was called.
    return found.filter(({ externalId }) => externalId !== '');
  };

  return {
    /** Those that exist, and are not erased. What was seen once is not looked for again for some time. */
    async existing(integration: string, externalIds: readonly string[]): Promise<Set<string>> {
      const existing = new Set(
        externalIds.filter((externalId) => seen().get(name(integration, externalId)) === true),
      );
      const unseen = externalIds.filter((externalId) => !existing.has(externalId));
      const start = performance.now();
      const found = unseen.length === 0 ? [] : await find(integration, unseen, false);
      for (const { externalId } of found) {
        existing.add(externalId);
        seen().set(name(integration, externalId), true, { start });
      }
      return existing;
    },
    /** What they hold now, by externalId. */
    async read(integration: string, externalIds: readonly string[]): Promise<Map<string, Fields>> {
      if (externalIds.length === 0) return new Map();
      const found = await find(integration, externalIds, true);
      return new Map(found.map(({ externalId, fields }) => [externalId, fields]));
    },
  };
}
