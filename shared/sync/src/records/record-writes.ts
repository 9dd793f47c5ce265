// Inserting new records, and changing those that were there. A change takes effect only on what was read.
import { duplicateIndexes, writeInChunks, type Collection } from '@integration-sync/runtime/store';
import type { Fresh, Known } from './classify.ts';
import { orderOf } from '../ids.ts';
import { allOfThem, byTheirIds, type ByIds } from './by-ids.ts';
import type { RecordDocument, Writing } from './record-document.ts';
import { byId, inParts } from './record-parts.ts';
import { isErased, statusField } from '../items/sync-status.ts';

export interface RecordWrites {
  /** Returns those that another push has created meanwhile. */
  insert(fresh: readonly Fresh[], writing: Writing): Promise<Fresh[]>;
  /** Returns those that now bear another push: it came before this one, or has changed them again since. */
  change(known: readonly Known[], writing: Writing): Promise<Known[]>;
}

export function openRecordWrites(records: Collection<RecordDocument>, byIds: ByIds): RecordWrites {
  const ownAmong = async (
    ids: readonly string[],
    { integration, syncId: push }: Writing,
  ): Promise<Set<string>> => {
    const found = await records
      .find({ ...byIds.these(integration, ids), push }, { projection: { _id: 1 }, ...allOfThem(ids.length) })
      .toArray();
    return new Set(found.map(({ _id }) => _id));
  };

  const insertPart = async (part: readonly Fresh[], writing: Writing): Promise<Fresh[]> => {
    try {
      await writeInChunks(records, part, writing.confirm, (bulk, one) =>
        bulk.insert(documentOf(one, writing)),
      );
      return [];
    } catch (error) {
      return duplicateIndexes(error).flatMap((index) => part[index] ?? []);
    }
  };

  const changePart = async (part: readonly Known[], writing: Writing): Promise<number> => {
    const { matchedCount } = await writeInChunks(records, part, writing.confirm, (bulk, one) => {
      const { filter, update } = changeOf(one, writing, byIds);
      bulk.find(filter).hint(byTheirIds.hint).updateOne(update);
    });
    return matchedCount;
  };

  return {
    async insert(fresh, writing) {
      const lost = await inParts(byId(fresh), writing.parts, (part) => insertPart(part, writing));
      return lost.flat();
    },

    async change(known, writing) {
      const matched = await inParts(byId(known), writing.parts, (part) => changePart(part, writing));
      if (matched.reduce((sum, count) => sum + count, 0) === known.length) return [];
      const won = await ownAmong(
        known.map(({ record }) => record.internalId),
        writing,
      );
      return known.filter(({ record }) => !won.has(record.internalId));
    },
  };
}

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
function changeOf(
  { record, folded, stored }: Known,
  { integration, syncId, at }: Writing,
  byIds: ByIds,
): { filter: object; update: object } {
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
    filter: {
      ...byIds.one(integration, record.internalId),
      push: stored.push,
      lastSyncedAt: stored.lastSyncedAt,
    },
    update: {
      $set: set,
      $max: { lastSyncedAt: at, changedAt: at },
      ...(Object.keys(unset).length === 0 ? {} : { $unset: unset }),
    },
  };
}
