// One small document per integration and kind, which every push of them passes through: how many records there
// are, and the time of synchronisation that was last handed out.
//
//   open    before a push writes: takes a stamp that is later than every one before it, and is noted as open
//   close   after it has written: no longer open, its new records counted
//
// So a listing that reads the stamp and the open pushes knows up to which time no record can appear any more, by whatever
// clocks the replicas have. And since the update that closes a push also counts its records, each push is counted once. What
// a recovering replica has counted stands beside (`counted`), as it may have to open and close the same push a second time.
import { oneByOne, openBatcher } from '@integration-sync/runtime/batcher';
import type { Collection, Store } from '@integration-sync/runtime/store';
import { isFirst } from '@integration-sync/runtime/store';
import { syncIdsFrom } from './ids.ts';
import { allOfThem } from './records/by-ids.ts';

export interface Watermark {
  _id: string;
  total: number;
  /** Epoch milliseconds; only ever grows. */
  stamp: number;
  /** By sync id, a time before which its push has stamped nothing. */
  open: Readonly<Record<string, number>>;
  /** By sync id, how many records recovery has counted of pushes that were left behind. */
  counted?: Readonly<Record<string, number>>;
}

export interface Watermarks {
  /** Resolves with the time at which everything that the push writes was synchronised. */
  open(key: string, syncId: string): Promise<Date>;
  /** Whether the push was open until now, and so its records are counted now. What recovery counts is its own. */
  close(key: string, syncId: string, added: number): Promise<boolean>;
  /** Closes what was opened then, and nothing that was opened since. */
  forget(key: string, syncId: string, openedAt: number): Promise<void>;
  /**
   * From now on recovery alone counts an open push, of whose records `before` are counted. One that is closed has been
   * counted by its own process, with all that it wrote.
   */
  take(key: string, syncId: string, before: number): Promise<void>;
  /**
   * Closes a push that was left behind. Of its records, `before` may have been counted by its own process. False if
   * another replica has closed it with fewer of them.
   */
  settle(key: string, syncId: string, records: number, before: number): Promise<boolean>;
  /** As it is at some moment after this call. Those that come while the database is asked are its next question, of whichever listings. */
  read(key: string): Promise<Watermark>;
  /** Those in which a push is open. */
  withOpen(): Promise<Pick<Watermark, '_id' | 'open'>[]>;
}

const readMax = 100;
/** Longer than a question usually takes. */
const readPatienceMs = 10;

/** Neither part can hold a slash. */
export const watermarkKey = (integration: string, listed: string): string => `${integration}/${listed}`;

export function openWatermarks(store: Store, collection: string, now: () => number): Watermarks {
  const watermarks = store.collection<Watermark>(collection);
  const stampOnly = { projection: { stamp: 1 } } as const;

  const open = async (key: string, syncId: string): Promise<Date> => {
    const at = now();
    const before = await watermarks.findOneAndUpdate(
      { _id: key },
      { $max: { stamp: at }, $set: { [`open.${syncId}`]: at } },
      stampOnly,
    );
    if (before === null) {
      await makeWatermark(watermarks, key);
      return open(key, syncId);
    }
    if (at > before.stamp) return new Date(at);
    // Another push has this millisecond already, or its replica a faster clock.
    const after = await watermarks.findOneAndUpdate(
      { _id: key },
      { $inc: { stamp: 1 } },
      { ...stampOnly, returnDocument: 'after' },
    );
    return new Date(after?.stamp ?? before.stamp + 1);
  };

  const readAll = async (keys: readonly string[]): Promise<Watermark[]> => {
    const ids = [...new Set(keys)];
    const found = await watermarks.find({ _id: { $in: ids } }, allOfThem(ids.length)).toArray();
    const byKey = new Map(found.map((one) => [one._id, one]));
    return keys.map((key) => byKey.get(key) ?? { _id: key, total: 0, stamp: 0, open: {} });
  };

  return {
    open,
    read: openBatcher(readAll, readMax, oneByOne(readPatienceMs)),
    settle: (key, syncId, records, before) => settle(watermarks, now, { key, syncId, records, before }),
    async close(key, syncId, added) {
      const name = `open.${syncId}`;
      const { matchedCount } = await watermarks.updateOne(
        { _id: key, [name]: { $exists: true }, [`counted.${syncId}`]: { $exists: false } },
        { $unset: { [name]: '' }, ...(added === 0 ? {} : { $inc: { total: added } }) },
      );
      return matchedCount === 1;
    },
    async take(key, syncId, before) {
      const counted = `counted.${syncId}`;
      await watermarks.updateOne(
        { _id: key, [`open.${syncId}`]: { $exists: true }, [counted]: { $exists: false } },
        { $set: { [counted]: before } },
      );
    },
    async forget(key, syncId, openedAt) {
      const name = `open.${syncId}`;
      await watermarks.updateOne({ _id: key, [name]: openedAt }, { $unset: { [name]: '' } });
    },
    withOpen: () => watermarks.find({ open: { $ne: {} } }, { projection: { open: 1 } }).toArray(),
  };
}

interface Settling {
  key: string;
  syncId: string;
  /** How many records of the push there are. */
  records: number;
  /** How many of them its own process may have counted. */
  before: number;
}

async function settle(
  watermarks: Collection<Watermark>,
  now: () => number,
  settling: Settling,
): Promise<boolean> {
  const { key, syncId, records, before } = settling;
  const watermark = await watermarks.findOne({ _id: key });
  const counted = watermark?.counted?.[syncId];
  if (watermark === null || !Object.hasOwn(watermark.open, syncId)) return (counted ?? records) >= records;
  const { matchedCount } = await watermarks.updateOne(
    {
      _id: key,
      [`open.${syncId}`]: { $exists: true },
      [`counted.${syncId}`]: counted ?? { $exists: false },
    },
    {
      $inc: { total: records - (counted ?? before) },
      $set: { [`counted.${syncId}`]: records },
      $unset: {
        [`open.${syncId}`]: '',
        ...Object.fromEntries(outdated(watermark, syncId, now()).map((id) => [`counted.${id}`, ''])),
      },
    },
  );
  // Another replica was quicker, and has closed it; unless it was opened once more.
  return matchedCount === 1 || settle(watermarks, now, settling);
}

const dayMs = 24 * 60 * 60 * 1_000;

/** No process comes back to a push after a day; one that does all the same counts on from what was counted before. */
const outdated = ({ counted = {} }: Watermark, settled: string, now: number): string[] =>
  Object.keys(counted).filter((syncId) => syncId < syncIdsFrom(new Date(now - dayMs)) && syncId !== settled);

/** Inserted, not upserted: two upserts at once may both believe that they made it. */
async function makeWatermark(watermarks: Collection<Watermark>, key: string): Promise<void> {
  await isFirst(watermarks.insertOne({ _id: key, total: 0, stamp: 0, open: {} }));
}

/**
 * The time up to which whatever is synchronised has been written: nothing will appear any more with a
 * `lastSyncedAt` of this or earlier.
 */
export function settledUntil(watermark: Pick<Watermark, 'stamp' | 'open'>): Date {
  const open = Object.values(watermark.open);
  return new Date(open.length === 0 ? watermark.stamp : Math.min(...open) - 1);
}
