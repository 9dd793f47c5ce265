// The records of one kind in the database. Keys and field names in every query come from code, values only as
// operands of plain operators.
import { duplicateIndexes, readInChunks, writeInChunks, type Store } from '@integration-sync/runtime/store';
import type { Fresh, Known, Stored } from './classify.ts';
import type { Trace } from './traces.ts';
import { orderOf } from './ids.ts';
import type { Fields } from './kind.ts';
import { isErased, statusField } from './status.ts';

export interface RecordDocument {
  /** The internal id. */
  _id: string;
  integration: string;
  /** Empty of an erased record. */
  externalId: string;
  fields: Fields;
  /** Where it stands among all records of its kind. Holds the push that created it, for ever. */
  order: string;
  /** The push that last changed it, or created it. */
  push: string;
  changed?: string[];
  lastSyncedAt: Date;
}

/** What is the same for everything that a push writes. */
export interface Writing {
  integration: string;
  syncId: string;
  at: Date;
  /** How many writes go side by side. */
  parts: number;
  /** Throws where nothing more may be written; asked when a write is ready to be sent, as making it ready takes time. */
  confirm: () => Promise<void>;
}

export interface Records {
  read(internalIds: readonly string[]): Promise<Map<string, Stored>>;
  /** Returns those that another push has created meanwhile. */
  insert(fresh: readonly Fresh[], writing: Writing): Promise<Fresh[]>;
  /** Returns those that now bear another push: it came before this one, or has changed them again since. */
  change(known: readonly Known[], writing: Writing): Promise<Known[]>;
  /** Notes that they are as they should be. Returns those that another push has changed since they were read. */
  touch(known: readonly Known[], writing: Writing): Promise<Known[]>;
  trace(internalIds: readonly string[]): Promise<Map<string, Trace>>;
  /** Moves the time of what the push has written. */
  stamp(internalIds: readonly string[], syncId: string, at: Date): Promise<void>;
}

export function openRecords(store: Store, collection: string): Records {
  const records = store.collection<RecordDocument>(collection);

  const ownAmong = async (ids: readonly string[], push: string): Promise<Set<string>> => {
    const found = await records
      .find({ _id: { $in: [...ids] }, push }, { projection: { _id: 1 }, ...wholeAnswer(ids.length) })
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

  const pushesOf = async (ids: readonly string[]): Promise<Map<string, string>> => {
    const found = await records
      .find<Pick<RecordDocument, '_id' | 'push'>>(
        { _id: { $in: [...ids] } },
        { projection: { push: 1 }, ...wholeAnswer(ids.length) },
      )
      .toArray();
    return new Map(found.map(({ _id, push }) => [_id, push]));
  };

  const touchTogether = (
    push: string,
    some: readonly Known[],
    { at, parts }: Writing,
  ): Promise<readonly number[]> =>
    inParts(byId(some), parts, async (part) => {
      const ids = part.map(({ record }) => record.internalId);
      const { matchedCount } = await records.updateMany(
        { _id: { $in: ids }, ...notedBefore(push, at) },
        { $set: { lastSyncedAt: at } },
      );
      return matchedCount;
    });

  const touchEach = async (part: readonly Known[], { at, confirm }: Writing): Promise<number> => {
    const { matchedCount } = await writeInChunks(records, part, confirm, (bulk, { record, stored }) => {
      const filter = { _id: record.internalId, ...notedBefore(stored.push, at) };
      bulk.find(filter).updateOne({ $set: { lastSyncedAt: at } });
    });
    return matchedCount;
  };

  const changePart = async (part: readonly Known[], writing: Writing): Promise<number> => {
    const { matchedCount } = await writeInChunks(records, part, writing.confirm, (bulk, one) => {
      const { filter, update } = changeOf(one, writing);
      bulk.find(filter).updateOne(update);
    });
    return matchedCount;
  };

  return {
    async read(internalIds) {
      if (internalIds.length === 0) return new Map();
      const found = await readInChunks(
        records.find<Pick<RecordDocument, '_id' | 'fields' | 'push' | 'changed' | 'lastSyncedAt'>>(
          { _id: { $in: [...internalIds] } },
          {
            projection: { fields: 1, push: 1, changed: 1, lastSyncedAt: 1 },
            ...wholeAnswer(internalIds.length),
          },
        ),
      );
      return new Map(found.map((stored) => [stored._id, stored]));
    },

    async insert(fresh, writing) {
      const lost = await inParts(byId(fresh), writing.parts, (part) => insertPart(part, writing));
      return lost.flat();
    },

    async change(known, writing) {
      const matched = await inParts(byId(known), writing.parts, (part) => changePart(part, writing));
      if (matched.reduce((sum, count) => sum + count, 0) === known.length) return [];
      const won = await ownAmong(
        known.map(({ record }) => record.internalId),
        writing.syncId,
      );
      return known.filter(({ record }) => !won.has(record.internalId));
    },

    async touch(known, writing) {
      const byPush = Map.groupBy(known, ({ stored }) => stored.push);
      const matched = await (byPush.size <= touchedTogetherMax
        ? Promise.all([...byPush].map(([push, some]) => touchTogether(push, some, writing)))
        : inParts(byId(known), writing.parts, (part) => touchEach(part, writing)));
      if (matched.flat().reduce((sum, count) => sum + count, 0) === known.length) return [];
      // Those that bear a later stamp are as good as noted.
      const now = await pushesOf(known.map(({ record }) => record.internalId));
      return known.filter(({ record, stored }) => now.get(record.internalId) !== stored.push);
    },

    async trace(internalIds) {
      if (internalIds.length === 0) return new Map();
      const found = await records
        .find<Trace & { _id: string }>(
          { _id: { $in: [...internalIds] } },
          {
            projection: { externalId: 1, order: 1, push: 1, changed: 1 },
            ...wholeAnswer(internalIds.length),
          },
        )
        .toArray();
      return new Map(found.map((trace) => [trace._id, trace]));
    },

    async stamp(internalIds, syncId, at) {
      await records.updateMany(
        { _id: { $in: [...internalIds] }, push: syncId },
        { $max: { lastSyncedAt: at } },
      );
    },
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

/** One round trip, where the driver would otherwise ask for the first hundred and then for the rest. */
export const wholeAnswer = (count: number) => ({ batchSize: count + 1, singleBatch: true });

/** So many parts of about the same size, at once; one, where there is not enough to share. */
async function inParts<One, Result>(
  all: readonly One[],
  parts: number,
  run: (part: readonly One[]) => Promise<Result>,
): Promise<Result[]> {
  if (all.length === 0) return [];
  const size = Math.max(Math.ceil(all.length / parts), partMin);
  const starts = Array.from({ length: Math.ceil(all.length / size) }, (_, nth) => nth * size);
  return Promise.all(starts.map((start) => run(all.slice(start, start + size))));
}

/** Less than this is written as fast as it is sent. */
const partMin = 100;

/** All pushes write in the same order, so that none waits for another in a circle. */
const byId = <One extends Fresh>(several: readonly One[]): One[] =>
  several.toSorted((one, other) => (one.record.internalId < other.record.internalId ? -1 : 1));

function documentOf({ record, folded }: Fresh, { integration, syncId, at }: Writing): RecordDocument {
  return {
    _id: record.internalId,
    integration,
    externalId: record.externalId,
    fields: folded.fields,
    order: orderOf(syncId, record.place),
    push: syncId,
    lastSyncedAt: at,
  };
}

/**
 * Takes effect only on what was read: the push that last changed it stands for everything in it, and the time of
 * synchronisation for the pushes that were acknowledged because they found it as they wanted it.
 */
function changeOf(
  { record, folded, stored }: Known,
  { syncId, at }: Writing,
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
    filter: { _id: record.internalId, push: stored.push, lastSyncedAt: stored.lastSyncedAt },
    update: {
      $set: set,
      $max: { lastSyncedAt: at },
      ...(Object.keys(unset).length === 0 ? {} : { $unset: unset }),
    },
  };
}
