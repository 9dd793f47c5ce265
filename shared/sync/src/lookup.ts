// Whether records are there, and what they hold, for those who point at them.
import type { Store } from '@integration-sync/runtime/store';
import { internalIdOf } from './ids.ts';
import type { Fields, Kind } from './kind.ts';
import { wholeAnswer, type RecordDocument } from './records.ts';
import { rememberIds } from './remembered.ts';

export interface Lookup {
  /** Those that exist. A record is never deleted, so what was seen once need not be looked for again. */
  existing(integration: string, externalIds: readonly string[]): Promise<Set<string>>;
  /** What they hold now, by externalId. */
  read(integration: string, externalIds: readonly string[]): Promise<Map<string, Fields>>;
}

const rememberedMax = 100_000;
const name = (integration: string, externalId: string): string => `${integration}/${externalId}`;

export function openLookup(store: Store, kind: Pick<Kind, 'plural' | 'idPrefix'>): Lookup {
  // Only what a majority has: anything else might be undone when a server is lost.
  const records = store.collection<RecordDocument>(kind.plural);
  const seen = rememberIds(rememberedMax);

  const find = (integration: string, externalIds: readonly string[], fields: boolean) => {
    const ids = externalIds.map((externalId) => internalIdOf(kind.idPrefix, integration, externalId));
    return records
      .find(
        { _id: { $in: ids } },
        {
          projection: { externalId: 1, ...(fields ? { fields: 1 } : {}) },
          readConcern: 'majority',
          ...wholeAnswer(ids.length),
        },
      )
      .toArray();
  };

  return {
    async existing(integration, externalIds) {
      const existing = new Set(externalIds.filter((externalId) => seen.has(name(integration, externalId))));
      const unseen = externalIds.filter((externalId) => !existing.has(externalId));
      const found = unseen.length === 0 ? [] : await find(integration, unseen, false);
      for (const { externalId } of found) {
        existing.add(externalId);
        seen.add(name(integration, externalId));
      }
      return existing;
    },
    async read(integration, externalIds) {
      if (externalIds.length === 0) return new Map();
      const found = await find(integration, externalIds, true);
      return new Map(found.map(({ externalId, fields }) => [externalId, fields]));
    },
  };
}
