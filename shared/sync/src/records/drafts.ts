// The drafts of records. The id of a draft follows from the id of its record, so that a record has one draft at most.
import { duplicateIndexes, type Store } from '@integration-sync/runtime/store';
import { orderOf } from '../ids.ts';
import type { Draft, Drafting } from '../kind.ts';
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

export function openDrafts(
  store: Store,
  { collection, idOf }: Pick<Drafting<unknown>, 'collection' | 'idOf'>,
) {
  const drafts = store.collection<DraftDocument>(collection);
  const { these } = filtersByIds(store);
  return {
    /** The ids of the existing drafts of these records. */
    async existing(integration: string, internalIds: readonly string[]): Promise<Set<string>> {
      if (internalIds.length === 0) return new Set();
      const asked = these(integration, internalIds.map(idOf));
      const reading = { projection: { _id: 1 }, ...allOfThem(internalIds.length) };
      const found = await drafts.find(asked, reading).toArray();
      return new Set(found.map(({ _id }) => _id));
    },
    /** Returns the inserted drafts; another push has inserted the others meanwhile. */
    async insert(
      several: readonly NewDraft[],
      { integration, syncId, at }: Pick<Writing, 'integration' | 'syncId' | 'at'>,
    ): Promise<readonly NewDraft[]> {
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
        return several;
      } catch (error) {
        const lost = new Set(duplicateIndexes(error).map((index) => sorted[index]));
        return several.filter((draft) => !lost.has(draft));
      }
    },
    /** The drafts that the push made for these records, by the internal ids of the records. */
    async madeBy(integration: string, syncId: string, internalIds: readonly string[]) {
      const made = new Map<string, Draft>();
      if (internalIds.length === 0) return made;
      const byDraftId = new Map(internalIds.map((internalId) => [idOf(internalId), internalId]));
      const asked = { ...these(integration, [...byDraftId.keys()]), push: syncId };
      const reading = { projection: { entry: 1 }, ...allOfThem(internalIds.length) };
      const found = await drafts.find(asked, reading).toArray();
      for (const { _id, entry } of found) made.set(byDraftId.get(_id) ?? '', entry);
      return made;
    },
    /** Raises `lastSyncedAt` of the drafts that the push made. */
    async stamp(integration: string, syncId: string, internalIds: readonly string[], at: Date) {
      const made = { ...these(integration, internalIds.map(idOf)), push: syncId };
      await drafts.updateMany(made, { $max: { lastSyncedAt: at } }, byTheirIds);
    },
  };
}
