// The drafts of records. The id of a draft follows from the id of its record, so that a record has one draft at most. Which draft
// a record has: pushing/drafting.ts.
import {
  allOfThem,
  duplicateIndexes,
  writeInChunks,
  type Collection,
  type Store,
} from '@integration-sync/runtime/store';
import { derivedId, orderOf } from '../ids.ts';
import type { Draft, Drafting, DraftKey } from '../kind.ts';
import { byTheirIds, filtersByIds } from './by-ids.ts';
import type { Writing } from './record-document.ts';

export interface DraftDocument {
  _id: string;
  integration: string;
  entry: Draft;
  order: string;
  /** The push that made the draft. */
  push: string;
  lastSyncedAt: Date;
  /** The push that wrote the draft last; absent while the draft is as it was made. */
  changedBy?: string;
  /** The keys that the push `changedBy` changed, among those that events announce; may be empty. */
  changed?: readonly DraftKey[];
}

export type StoredDraft = Pick<DraftDocument, 'entry' | 'push' | 'changedBy' | 'changed'>;

export interface NewDraft {
  /** The ordinal of the draft's record in the push. */
  ordinal: number;
  internalId: string;
  entry: Draft;
}

export interface ChangedDraft extends NewDraft {
  before: StoredDraft;
  changed: readonly DraftKey[];
}

/** A draft that a push has made, or of which it has changed the keys in `changed`. */
export interface WrittenDraft extends NewDraft {
  made: boolean;
  changed: readonly DraftKey[];
}

export const writerOf = ({ changedBy, push }: StoredDraft): string => changedBy ?? push;

export type Drafts = ReturnType<typeof openDrafts>;

type DraftWriting = Pick<Writing, 'integration' | 'syncId' | 'at' | 'confirm'>;

export function openDrafts(
  store: Store,
  { collection, idPrefix }: Pick<Drafting<unknown>, 'collection' | 'idPrefix'>,
) {
  const drafts = store.collection<DraftDocument>(collection);
  const idOf = (internalId: string): string => derivedId(idPrefix, internalId);
  const { one: byId, these } = filtersByIds(store);

  /** The drafts of these records, by the internal ids of the records. */
  const read = async (
    integration: string,
    internalIds: readonly string[],
  ): Promise<Map<string, StoredDraft>> => {
    if (internalIds.length === 0) return new Map();
    const byDraftId = new Map(internalIds.map((internalId) => [idOf(internalId), internalId]));
    const reading = {
      projection: { entry: 1, push: 1, changedBy: 1, changed: 1 },
      ...allOfThem(internalIds.length),
    };
    const found = await drafts.find(these(integration, [...byDraftId.keys()]), reading).toArray();
    return new Map(found.map(({ _id, ...stored }) => [byDraftId.get(_id) ?? '', stored]));
  };

  return {
    read,
    insert: (several: readonly NewDraft[], writing: DraftWriting): Promise<readonly NewDraft[]> =>
      insertDrafts(drafts, idOf, several, writing),
    /** Changes drafts that are as they were read. Returns those that this push has changed; another push has changed the others. */
    async change(
      several: readonly ChangedDraft[],
      { integration, syncId, at, confirm }: DraftWriting,
    ): Promise<readonly ChangedDraft[]> {
      if (several.length === 0) return [];
      const { matchedCount } = await writeInChunks(
        drafts,
        several.toSorted(byInternalId),
        confirm,
        (bulk, { internalId, before, entry, changed }) => {
          const asRead = { changedBy: before.changedBy ?? { $exists: false } };
          bulk
            .find({ ...byId(integration, idOf(internalId)), ...asRead })
            .hint(byTheirIds.hint)
            .updateOne({
              $set: { entry, changedBy: syncId, changed: [...changed] },
              $max: { lastSyncedAt: at },
            });
        },
      );
      if (matchedCount === several.length) return several;
      const now = await read(
        integration,
        several.map(({ internalId }) => internalId),
      );
      return several.filter(({ internalId }) => now.get(internalId)?.changedBy === syncId);
    },
    /** Raises `lastSyncedAt` of the drafts that the push made or wrote last. */
    async stamp(integration: string, syncId: string, internalIds: readonly string[], at: Date) {
      const written = {
        ...these(integration, internalIds.map(idOf)),
        $or: [{ push: syncId }, { changedBy: syncId }],
      };
      await drafts.updateMany(written, { $max: { lastSyncedAt: at } }, byTheirIds);
    },
  };
}

/** Returns the inserted drafts; another push has inserted the others meanwhile. */
async function insertDrafts(
  drafts: Collection<DraftDocument>,
  idOf: (internalId: string) => string,
  several: readonly NewDraft[],
  { integration, syncId, at }: DraftWriting,
): Promise<readonly NewDraft[]> {
  if (several.length === 0) return [];
  const sorted = several.toSorted(byInternalId);
  const documents = sorted.map(({ ordinal, internalId, entry }) => ({
    _id: idOf(internalId),
    integration,
    entry,
    order: orderOf(syncId, ordinal),
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
}

/** All pushes write in the same order, so that they cannot deadlock. */
const byInternalId = (one: NewDraft, other: NewDraft): number => (one.internalId < other.internalId ? -1 : 1);
