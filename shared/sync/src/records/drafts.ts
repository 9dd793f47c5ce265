// Documents that are drafted once for a record: the id follows from the record's, so that there are never two.
import { duplicateIndexes, type Store } from '@integration-sync/runtime/store';
import { orderOf } from '../ids.ts';
import type { Draft } from '../kind.ts';
import { allOfThem, byTheirIds, filtersByIds } from './by-ids.ts';
import type { Writing } from './record-document.ts';

export interface DraftDocument {
  /** The id of the draft. */
  _id: string;
  integration: string;
  entry: Draft;
  order: string;
  push: string;
  lastSyncedAt: Date;
}

export interface NewDraft {
  /** The place of its record in the push. */
  place: number;
  id: string;
  entry: Draft;
}

export interface Drafts {
  existing(integration: string, ids: readonly string[]): Promise<Set<string>>;
  /** Returns those that it made; another push may have made the others meanwhile. */
  insert(
    drafts: readonly NewDraft[],
    writing: Pick<Writing, 'integration' | 'syncId' | 'at'>,
  ): Promise<NewDraft[]>;
  /** Those among the ids that the push made, by id. */
  madeBy(integration: string, syncId: string, ids: readonly string[]): Promise<Map<string, Draft>>;
  /** Moves the time of what the push has made. */
  stamp(integration: string, syncId: string, ids: readonly string[], at: Date): Promise<void>;
}

export function openDrafts(store: Store, collection: string): Drafts {
  const drafts = store.collection<DraftDocument>(collection);
  const { these } = filtersByIds(store);
  return {
    async existing(integration, ids) {
      if (ids.length === 0) return new Set();
      const found = await drafts
        .find(these(integration, ids), { projection: { _id: 1 }, ...allOfThem(ids.length) })
        .toArray();
      return new Set(found.map(({ _id }) => _id));
    },
    async insert(several, { integration, syncId, at }) {
      if (several.length === 0) return [];
      const sorted = several.toSorted((one, other) => (one.id < other.id ? -1 : 1));
      const documents = sorted.map(({ place, id, entry }) => ({
        _id: id,
        integration,
        entry,
        order: orderOf(syncId, place),
        push: syncId,
        lastSyncedAt: at,
      }));
      try {
        await drafts.insertMany(documents, { ordered: false });
        return [...several];
      } catch (error) {
        const lost = new Set(duplicateIndexes(error).map((index) => sorted[index]));
        return several.filter((draft) => !lost.has(draft));
      }
    },
    async madeBy(integration, syncId, ids) {
      if (ids.length === 0) return new Map();
      const found = await drafts
        .find(
          { ...these(integration, ids), push: syncId },
          { projection: { entry: 1 }, ...allOfThem(ids.length) },
        )
        .toArray();
      return new Map(found.map(({ _id, entry }) => [_id, entry]));
    },
    async stamp(integration, syncId, ids, at) {
      const made = { ...these(integration, ids), push: syncId };
      await drafts.updateMany(made, { $max: { lastSyncedAt: at } }, byTheirIds);
    },
  };
}
