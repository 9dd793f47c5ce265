// One small document per integration and kind, which every push of them passes through: how many records there
// are, and the time of synchronisation that was last handed out.
//
//   open    before a push writes: takes a stamp that is later than every one before it, and is noted as open
//   close   after it has written: no longer open, its new records counted
//
// So a listing that reads the stamp and the open pushes knows up to which time no record can appear any more, by whatever
// clocks the replicas have. And since the update that closes a push also counts its records, each push is counted once. What
// a recovering replica has counted stands beside (`counted`), as it may have to open and close the same push a second time.
//
// A push that lost records to another push writes since when it waits (`claims`). Every push that opens reads it (precedence.ts).
import { oneByOne, openBatcher } from '@integration-sync/runtime/batcher';
import { isFirst, type Collection, type Store } from '@integration-sync/runtime/store';
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
  claims?: Claims;
}

/** By sync id, since when an open push waits that met another one: epoch milliseconds, by the clock of `stamp`. */
export type Claims = Readonly<Record<string, number>>;

/** Of a push that opens a listing. */
export interface Opened {
  /** When everything that the push writes was synchronised. */
  at: Date;
  /** Of other pushes. */
  claims: Claims;
}

export type Watermarks = ReturnType<typeof openWatermarks>;

const readMax = 100;
/** Longer than a question usually takes. */
const readPatienceMs = 10;

/** Neither part can hold a slash. */
export const watermarkKey = (integration: string, listed: string): string => `${integration}/${listed}`;

export function openWatermarks(store: Store, collection: string, now: () => number) {
  const watermarks = store.collection<Watermark>(collection);

  /** Resolves with the time of what the push writes, and with who claims to go first. */
  const open = async (key: string, syncId: string): Promise<Opened> => {
    const at = now();
    const before = await watermarks.findOneAndUpdate(
      { _id: key },
      { $max: { stamp: at }, $set: { [`open.${syncId}`]: at } },
      { projection: { stamp: 1, claims: 1 } },
    );
    if (before === null) {
      // Inserted, not upserted: two upserts at once may both believe that they made it.
      await isFirst(watermarks.insertOne({ _id: key, total: 0, stamp: 0, open: {} }));
      return open(key, syncId);
    }
    const { claims = {} } = before;
    if (at > before.stamp) return { at: new Date(at), claims };
    // Another push has this millisecond already, or its replica a faster clock.
    const after = await watermarks.findOneAndUpdate(
      { _id: key },
      { $inc: { stamp: 1 } },
      { projection: { stamp: 1 }, returnDocument: 'after' },
    );
    return { at: new Date(after?.stamp ?? before.stamp + 1), claims };
  };

  const readAll = async (keys: readonly string[]): Promise<Watermark[]> => {
    const ids = [...new Set(keys)];
    const found = await watermarks.find({ _id: { $in: ids } }, allOfThem(ids.length)).toArray();
    const byKey = new Map(found.map((one) => [one._id, one]));
    return keys.map((key) => byKey.get(key) ?? { _id: key, total: 0, stamp: 0, open: {} });
  };

  return {
    open,
    ...openClaims(watermarks),
    ...openSettling(watermarks, now),
    /** As it is at some moment after this call. Calls that come while MongoDB is asked share the next question, for any listings. */
    read: openBatcher(readAll, readMax, oneByOne({ patienceMs: readPatienceMs })),
    /** Whether the push was open until now, and so its records are counted now. What recovery counts is its own. */
    async close(key: string, syncId: string, added: number): Promise<boolean> {
      const name = `open.${syncId}`;
      const { matchedCount } = await watermarks.updateOne(
        { _id: key, [name]: { $exists: true }, [`counted.${syncId}`]: { $exists: false } },
        {
          $unset: { [name]: '', [`claims.${syncId}`]: '' },
          ...(added === 0 ? {} : { $inc: { total: added } }),
        },
      );
      return matchedCount === 1;
    },
    /** Closes what was opened then, and nothing that was opened since. */
    async forget(key: string, syncId: string, openedAt: number): Promise<void> {
      const name = `open.${syncId}`;
      await watermarks.updateOne(
        { _id: key, [name]: openedAt },
        { $unset: { [name]: '', [`claims.${syncId}`]: '' } },
      );
    },
    /** Those in which a push is open. */
    withOpen: (): Promise<Pick<Watermark, '_id' | 'open'>[]> =>
      watermarks.find({ open: { $ne: {} } }, { projection: { open: 1 } }).toArray(),
  };
}

function openClaims(watermarks: Collection<Watermark>) {
  return {
    /** Of a push that is open. Resolves with the claims of all. */
    async claim(key: string, syncId: string, since: number): Promise<Claims> {
      const after = await watermarks.findOneAndUpdate(
        { _id: key, [`open.${syncId}`]: { $exists: true } },
        { $set: { [`claims.${syncId}`]: since } },
        { projection: { claims: 1 }, returnDocument: 'after' },
      );
      return after?.claims ?? {};
    },
    async withdrawClaim(key: string, syncId: string): Promise<void> {
      await watermarks.updateOne({ _id: key }, { $unset: { [`claims.${syncId}`]: '' } });
    },
  };
}

/** What recovery does. */
function openSettling(watermarks: Collection<Watermark>, now: () => number) {
  const settle = async (key: string, syncId: string, records: number, before: number): Promise<boolean> => {
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
          [`claims.${syncId}`]: '',
          ...Object.fromEntries(outdated(watermark, syncId, now()).map((id) => [`counted.${id}`, ''])),
        },
      },
    );
    // Another replica was quicker, and has closed it; unless it was opened once more.
    return matchedCount === 1 || settle(key, syncId, records, before);
  };

  return {
    /**
     * Closes a push that was left behind. Of its records, `before` may have been counted by its own process. False if
     * another replica has closed it with fewer of them.
     */
    settle,
    /**
     * From now on recovery alone counts an open push, of whose records `before` are counted. One that is closed has been
     * counted by its own process, with all that it wrote.
     */
    async take(key: string, syncId: string, before: number): Promise<void> {
      const counted = `counted.${syncId}`;
      await watermarks.updateOne(
        { _id: key, [`open.${syncId}`]: { $exists: true }, [counted]: { $exists: false } },
        { $set: { [counted]: before } },
      );
    },
  };
}

const dayMs = 24 * 60 * 60 * 1_000;

/** No process comes back to a push after a day; one that does all the same counts on from what was counted before. */
const outdated = ({ counted = {} }: Watermark, settled: string, now: number): string[] =>
  Object.keys(counted).filter((syncId) => syncId < syncIdsFrom(new Date(now - dayMs)) && syncId !== settled);

/**
 * The time up to which whatever is synchronised has been written: nothing will appear any more with a
 * `lastSyncedAt` of this or earlier (the header `X-Next-Since`, listing/listing.ts).
 */
export function settledUntil(watermark: Pick<Watermark, 'stamp' | 'open'>): Date {
  const open = Object.values(watermark.open);
  return new Date(open.length === 0 ? watermark.stamp : Math.min(...open) - 1);
}
