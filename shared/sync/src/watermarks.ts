// The watermarks: one document for each integration and listed collection, which every push updates. It has the number of records
// and the last stamp, which is a time of synchronisation (`lastSyncedAt`).
//
//   open    before a push writes: the push takes a stamp later than all earlier stamps, and is noted as open
//   close   after the push has written: the push is no longer open, and its new records are counted
//
// So a listing knows from the stamp and the open pushes up to which time no further record can appear, whatever the clocks of the
// replicas say. The update that closes a push also counts its records, so each push is counted once. `counted` has how many
// records of a push recovery has counted, because recovery may open and close a push a second time.
//
// A push whose records another push has changed first notes in `claims` since when it waits. Each push reads `claims` when it
// opens the watermark, and lets older claims go first (longest-waiting-first.ts).
import { oneByOne, openBatcher } from '@integration-sync/runtime/batcher';
import { allOfThem, isFirst, isFound, type Collection, type Store } from '@integration-sync/runtime/store';
import { syncIdsFrom } from './ids.ts';

export interface Watermark {
  _id: string;
  total: number;
  /** The last stamp of a push, in epoch milliseconds; never decreases. */
  stamp: number;
  /** By sync id of each open push, a time before all stamps of that push. */
  open: Readonly<Record<string, number>>;
  /** By sync id of a push that a dead process left behind, how many of its records recovery has counted. */
  counted?: Readonly<Record<string, number>>;
  claims?: Claims;
}

/** By sync id of an open push with a claim, since when the push waits: epoch milliseconds, by the clock of `stamp`. */
export type Claims = Readonly<Record<string, number>>;

/** What a push gets as it opens a watermark. */
export interface Opened {
  /** The stamp: `lastSyncedAt` of all records that the push writes. */
  at: Date;
  claims: Claims;
}

export type Watermarks = ReturnType<typeof openWatermarks>;

const readMax = 100;
/** How long a read waits for the previous query, before it begins its own; longer than a query usually takes. */
const readPatienceMs = 10;

/** Neither `integration` nor `listed` can hold a slash. */
export const watermarkKey = (integration: string, listed: string): string => `${integration}/${listed}`;

export function openWatermarks(store: Store, collection: string, now: () => number) {
  const watermarks = store.collection<Watermark>(collection);

  /** `counted`: of a push that recovery opens again, how many of its records are counted already. */
  const open = async (key: string, syncId: string, counted?: number): Promise<Opened> => {
    const at = now();
    const before = await watermarks.findOneAndUpdate(
      { _id: key },
      {
        $max: { stamp: at, ...(counted === undefined ? {} : { [`counted.${syncId}`]: counted }) },
        $set: { [`open.${syncId}`]: at },
      },
      { projection: { stamp: 1, claims: 1 } },
    );
    if (before === null) {
      // The document is inserted, not upserted: of two concurrent upserts, both may report that they created it.
      await isFirst(watermarks.insertOne({ _id: key, total: 0, stamp: 0, open: {} }));
      return open(key, syncId, counted);
    }
    const { claims = {} } = before;
    if (at > before.stamp) return { at: new Date(at), claims };
    // Another push has a stamp of this millisecond or, if its replica's clock is ahead, a later one.
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
    ...openRecovering(watermarks, now),
    /** Reads the watermark as of some moment after the call. Calls during a query share the next query, for any listings. */
    read: openBatcher(readAll, readMax, oneByOne({ patienceMs: readPatienceMs })),
    /** Whether this call closed the push and counted its records. False if recovery counts the push. */
    close(key: string, syncId: string, added: number): Promise<boolean> {
      const name = `open.${syncId}`;
      const isOpen = { _id: key, [name]: { $exists: true }, [`counted.${syncId}`]: { $exists: false } };
      const $unset = { [name]: '', [`claims.${syncId}`]: '' } as const;
      const counted = added === 0 ? {} : { $inc: { total: added } };
      return isFound(watermarks.updateOne(isOpen, { $unset, ...counted }));
    },
    /** Closes the push without counting, unless it was opened again after `openedAt`. */
    async forget(key: string, syncId: string, openedAt: number): Promise<void> {
      const name = `open.${syncId}`;
      await watermarks.updateOne(
        { _id: key, [name]: openedAt },
        { $unset: { [name]: '', [`claims.${syncId}`]: '' } },
      );
    },
    withOpen: (): Promise<Pick<Watermark, '_id' | 'open'>[]> =>
      watermarks.find({ open: { $ne: {} } }, { projection: { open: 1 } }).toArray(),
  };
}

function openClaims(watermarks: Collection<Watermark>) {
  return {
    /** Notes the claim of an open push. Resolves with the claims of all pushes. */
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

function openRecovering(watermarks: Collection<Watermark>, now: () => number) {
  const closeDead = async (
    key: string,
    syncId: string,
    records: number,
    before: number,
  ): Promise<boolean> => {
    const watermark = await watermarks.findOne({ _id: key });
    const counted = watermark?.counted?.[syncId];
    if (watermark === null || !Object.hasOwn(watermark.open, syncId)) return (counted ?? records) >= records;
    // A replica that took the push over earlier may have read fewer records.
    const known = Math.max(records, counted ?? before);
    const { matchedCount } = await watermarks.updateOne(
      {
        _id: key,
        [`open.${syncId}`]: { $exists: true },
        [`counted.${syncId}`]: counted ?? { $exists: false },
      },
      {
        $inc: { total: known - (counted ?? before) },
        $set: { [`counted.${syncId}`]: known },
        $unset: {
          [`open.${syncId}`]: '',
          [`claims.${syncId}`]: '',
          ...Object.fromEntries(outdated(watermark, syncId, now()).map((id) => [`counted.${id}`, ''])),
        },
      },
    );
    // No document matches if meanwhile another replica has closed this push, or a sweeper has opened the push again.
    return matchedCount === 1 || closeDead(key, syncId, records, before);
  };

  return {
    /**
     * Closes a push that a dead process left behind, with `records` new records; that process may have counted `before` of them.
     * False if another replica has closed the push with fewer records.
     */
    closeDead,
    /**
     * From now on only recovery counts the open push; `before` of its records are counted already. A closed push was
     * counted completely by its own process.
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

/** Sync ids in `counted` that are older than a day: no process returns to such a push. */
const outdated = ({ counted = {} }: Watermark, closed: string, now: number): string[] =>
  Object.keys(counted).filter((syncId) => syncId < syncIdsFrom(new Date(now - dayMs)) && syncId !== closed);

export const isNoneOpen = ({ open }: Pick<Watermark, 'open'>): boolean => Object.keys(open).length === 0;

/** The time up to which no further record can appear, by `lastSyncedAt` (the header `X-Next-Since`, listing/answer-page.ts). */
export function completeUntil(watermark: Pick<Watermark, 'stamp' | 'open'>): Date {
  const open = Object.values(watermark.open);
  return new Date(open.length === 0 ? watermark.stamp : Math.min(...open) - 1);
}
