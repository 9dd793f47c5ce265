// What a replica does with entries that others left behind: it takes them over, settles them, and looks at them again.
import { isFirst, type Collection } from '@integration-sync/runtime/store';
import type { Completion, Entries, Entry, LeftBehind } from './journal-entry.ts';
import { untilAnnounced } from './journal-pushes.ts';
import { dueAfter, dueAgainAfter, expiryAfter, lookAfter } from './journal-times.ts';

/** Stands where a push was taken for dead before it had an entry. */
export interface Tombstone {
  _id: string;
  expireAt: Date;
}

export interface RecoveryJournal {
  /** Sees to it that no entry comes there any more. False if something stands there already. */
  bury(syncId: string, at: Date): Promise<boolean>;
  /** Those that no replica works on any more, the longest waiting first. */
  leftBehind(at: Date, countMax: number): Promise<LeftBehind[]>;
  /** Takes one over, unless another replica did. */
  claim(left: LeftBehind, owner: string, at: Date): Promise<Entry | undefined>;
  /** It could not be settled, and is due again soon, unless another replica has taken it over. */
  postpone(entry: Pick<Entry, '_id' | 'owner' | 'startedAt'>, at: Date): Promise<void>;
  /** Completes it for a writer of whom more may come. False if it has another owner by now. */
  settle(syncId: string, owner: string, completion: Completion): Promise<boolean>;
  /** For a push of which nothing was found stored: listings no longer show its entry, unless a later look finds more. */
  hide(entry: Pick<Entry, '_id' | 'owner' | 'integration'>, at: Date): Promise<void>;
  /** What was settled is announced, and is looked at again later. */
  watch(syncId: string, owner: string, at: Date): Promise<void>;
  /** More came than its watermarks have counted. */
  settleAgain(entry: Pick<Entry, '_id' | 'owner' | 'integration'>, at: Date): Promise<void>;
  /** The watermarks of a reopened entry are open again. False if it has another owner by now. */
  noteOpened(syncId: string, owner: string): Promise<boolean>;
  /** Nothing came after it was settled, and nothing will. */
  finish(entry: Pick<Entry, '_id' | 'owner' | 'hiddenFrom'>, at: Date): Promise<void>;
}

export function openRecoveryJournal(entries: Entries, tombstones: Collection<Tombstone>): RecoveryJournal {
  return {
    ...openTakingOver(entries, tombstones),
    ...openSettling(entries),
  };
}

function openTakingOver(
  entries: Entries,
  tombstones: Collection<Tombstone>,
): Pick<RecoveryJournal, 'bury' | 'leftBehind' | 'claim' | 'postpone'> {
  return {
    bury: (syncId, at) => isFirst(tombstones.insertOne({ _id: syncId, expireAt: expiryAfter(at) })),
    async leftBehind(at, countMax) {
      const found = await entries
        .find({ due: { $lte: at } }, { projection: { due: 1 } })
        .hint('left-behind')
        .sort({ due: 1 })
        .limit(countMax)
        .toArray();
      return found.flatMap(({ _id, due }) => (due === undefined ? [] : [{ syncId: _id, due }]));
    },
    async claim({ syncId, due }, owner, at) {
      const claimed = await entries.findOneAndUpdate(
        { _id: syncId, due },
        { $set: { owner, due: dueAfter(at) } },
        { returnDocument: 'after', promoteBuffers: true },
      );
      if (claimed === null) return undefined;
      return { ...claimed, integration: claimed.hiddenFrom ?? claimed.integration };
    },
    async postpone({ _id, owner, startedAt }, at) {
      // One that is done with has no time at which it is due.
      const mine = { _id, owner, due: { $exists: true } };
      await entries.updateOne(mine, { $set: { due: dueAgainAfter(startedAt, at) } });
    },
  };
}

function openSettling(entries: Entries): Omit<RecoveryJournal, 'bury' | 'leftBehind' | 'claim' | 'postpone'> {
  return {
    async settle(syncId, owner, completion) {
      const { matchedCount } = await entries.updateOne(
        { _id: syncId, owner, state: 'writing' },
        { $set: { ...completion, state: 'written', due: dueAfter(completion.completedAt), watched: true } },
      );
      return matchedCount === 1;
    },
    async hide({ _id, owner, integration }, at) {
      await entries.updateOne(
        { _id, owner, state: 'writing' },
        {
          $set: { watched: true, hiddenFrom: integration, due: lookAfter(at) },
          $unset: { integration: '', outcomes: '', fields: '' },
        },
      );
    },
    async watch(syncId, owner, at) {
      await entries.updateOne(
        { _id: syncId, owner, state: 'written' },
        { $set: { state: 'announced', due: lookAfter(at) } },
      );
    },
    async settleAgain({ _id, owner, integration }, at) {
      await entries.updateOne(
        { _id, owner },
        {
          $set: { integration, state: 'writing', owner: '', due: at, reopened: true },
          $unset: { watched: '', hiddenFrom: '' },
        },
      );
    },
    async noteOpened(syncId, owner) {
      const { matchedCount } = await entries.updateOne(
        { _id: syncId, owner, state: 'writing' },
        { $unset: { reopened: '' } },
      );
      return matchedCount === 1;
    },
    async finish({ _id, owner, hiddenFrom }, at) {
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
