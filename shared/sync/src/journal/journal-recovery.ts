// How a replica takes over and settles the journal entries of dead processes, and checks settled entries once more.
import { isFirst, isFound, type Collection } from '@integration-sync/runtime/store';
import type { Completion, Entries, Entry } from './journal-entry.ts';
import { untilAnnounced } from './journal-pushes.ts';
import { dueAfter, dueAgainAfter, dueWithinMs, expiryAfter, lookAfter } from './journal-times.ts';

/** Stored under the sync id of a push that died before it had an entry, so that its process can no longer insert the entry. */
export interface Tombstone {
  _id: string;
  expireAt: Date;
}

export type LeftBehind = Required<Pick<Entry, '_id' | 'due'>>;

const onlyDue = { projection: { due: 1 } } as const;

export function openRecoveryJournal(entries: Entries, tombstones: Collection<Tombstone>) {
  return {
    /** Inserts a tombstone. False if an entry or a tombstone with this sync id exists. */
    bury: (syncId: string, at: Date): Promise<boolean> =>
      isFirst(tombstones.insertOne({ _id: syncId, expireAt: expiryAfter(at) })),
    /** At the start of a replica: corrects due times of a replica whose clock was ahead. Its writes may still arrive. */
    async bringForward(at: Date): Promise<void> {
      const late = { due: { $gt: new Date(at.getTime() + dueWithinMs) } };
      await entries.updateMany(late, { $set: { due: lookAfter(at) } }, { hint: 'left-behind' });
    },
    /** The entries that are due, that is, on which no replica works any more; the longest due first. */
    leftBehind: (at: Date, countMax: number) =>
      entries
        .find<LeftBehind>({ due: { $lte: at } }, onlyDue)
        .hint('left-behind')
        .sort({ due: 1 })
        .limit(countMax)
        .toArray(),
    /** Which of these entries are due. */
    leftBehindAmong: (syncIds: readonly string[], at: Date) =>
      entries.find<LeftBehind>({ _id: { $in: [...syncIds] }, due: { $lte: at } }, onlyDue).toArray(),
    /** Takes the entry over, unless another replica has done so. */
    async takeOver({ _id, due }: LeftBehind, owner: string, at: Date): Promise<Entry | undefined> {
      const taken = await entries.findOneAndUpdate(
        { _id, due },
        { $set: { owner, due: dueAfter(at) } },
        { returnDocument: 'after', promoteBuffers: true },
      );
      if (taken === null) return undefined;
      return { ...taken, integration: taken.hiddenFrom ?? taken.integration };
    },
    /** Makes an entry that could not be settled due again soon, unless another replica has taken the entry over. */
    async postpone({ _id, owner, startedAt }: Entry, at: Date): Promise<void> {
      // A finished entry has no `due`.
      const mine = { _id, owner, due: { $exists: true } };
      await entries.updateOne(mine, { $set: { due: dueAgainAfter(startedAt, at) } });
    },
  };
}

export function openSettling(entries: Entries) {
  return {
    /** Completes the entry of a process whose writes may still arrive. False if the entry has another owner by now. */
    settle(syncId: string, owner: string, completion: Completion): Promise<boolean> {
      const due = dueAfter(completion.completedAt);
      const $set = { ...completion, state: 'written', due, watched: true } as const;
      return isFound(entries.updateOne({ _id: syncId, owner, state: 'writing' }, { $set }));
    },
    /** For a push without stored writes: hides the entry from listings of pushes, unless a later check finds writes. */
    async hide({ _id, owner, integration }: Entry, at: Date): Promise<void> {
      await entries.updateOne(
        { _id, owner, state: 'writing' },
        {
          $set: { watched: true, hiddenFrom: integration, due: lookAfter(at) },
          $unset: { integration: '', outcomes: '', fields: '' },
        },
      );
    },
    /** Marks a settled entry as announced, and makes it due for another check. */
    async watch(syncId: string, owner: string, at: Date): Promise<void> {
      await entries.updateOne(
        { _id: syncId, owner, state: 'written' },
        { $set: { state: 'announced', due: lookAfter(at) } },
      );
    },
    /** Reopens an entry whose push has stored more records than the watermarks have counted. */
    async settleAgain({ _id, owner, integration }: Entry, at: Date): Promise<void> {
      await entries.updateOne(
        { _id, owner },
        {
          $set: { integration, state: 'writing', owner: '', due: at, reopened: true },
          $unset: { watched: '', hiddenFrom: '' },
        },
      );
    },
    /** Notes that the watermarks of a reopened entry are open again. False if the entry has another owner by now. */
    noteOpened: (syncId: string, owner: string): Promise<boolean> =>
      isFound(entries.updateOne({ _id: syncId, owner, state: 'writing' }, { $unset: { reopened: '' } })),
    /** Ends the watch of an entry: no write came since the settling, and none can come any more. */
    async finish({ _id, owner, hiddenFrom }: Entry, at: Date): Promise<void> {
      const mine = { _id, owner, watched: true } as const;
      if (hiddenFrom !== undefined) await entries.deleteOne(mine);
      else {
        await entries.updateOne(mine, {
          $set: { expireAt: expiryAfter(at) },
          $unset: { ...untilAnnounced, evidence: '', watched: '' },
        });
      }
    },
  };
}
