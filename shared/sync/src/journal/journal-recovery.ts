// What a replica does with entries that others left behind: it takes them over, settles them, and looks at them again.
import { isFirst, type Collection } from '@integration-sync/runtime/store';
import type { Completion, Entries, Entry } from './journal-entry.ts';
import { untilAnnounced } from './journal-pushes.ts';
import { dueAfter, dueAgainAfter, expiryAfter, lookAfter } from './journal-times.ts';

/** Stands where a push was taken for dead before it had an entry. */
export interface Tombstone {
  _id: string;
  expireAt: Date;
}

export interface LeftBehind {
  syncId: string;
  due: Date;
}

export function openRecoveryJournal(entries: Entries, tombstones: Collection<Tombstone>) {
  return {
    /** Sees to it that no entry comes there any more. False if something stands there already. */
    bury: (syncId: string, at: Date): Promise<boolean> =>
      isFirst(tombstones.insertOne({ _id: syncId, expireAt: expiryAfter(at) })),
    /** Those that no replica works on any more, the longest waiting first. */
    async leftBehind(at: Date, countMax: number): Promise<LeftBehind[]> {
      const found = await entries
        .find({ due: { $lte: at } }, { projection: { due: 1 } })
        .hint('left-behind')
        .sort({ due: 1 })
        .limit(countMax)
        .toArray();
      return found.flatMap(({ _id, due }) => (due === undefined ? [] : [{ syncId: _id, due }]));
    },
    /** Takes one over, unless another replica did. */
    async claim({ syncId, due }: LeftBehind, owner: string, at: Date): Promise<Entry | undefined> {
      const claimed = await entries.findOneAndUpdate(
        { _id: syncId, due },
        { $set: { owner, due: dueAfter(at) } },
        { returnDocument: 'after', promoteBuffers: true },
      );
      if (claimed === null) return undefined;
      return { ...claimed, integration: claimed.hiddenFrom ?? claimed.integration };
    },
    /** It could not be settled, and is due again soon, unless another replica has taken it over. */
    async postpone({ _id, owner, startedAt }: Entry, at: Date): Promise<void> {
      // One that is done with has no time at which it is due.
      const mine = { _id, owner, due: { $exists: true } };
      await entries.updateOne(mine, { $set: { due: dueAgainAfter(startedAt, at) } });
    },
  };
}

/** How an entry is settled that its own process left behind, and looked at again. */
export function openSettling(entries: Entries) {
  return {
    /** Completes it for a writer of whom more may come. False if it has another owner by now. */
    async settle(syncId: string, owner: string, completion: Completion): Promise<boolean> {
      const { matchedCount } = await entries.updateOne(
        { _id: syncId, owner, state: 'writing' },
        { $set: { ...completion, state: 'written', due: dueAfter(completion.completedAt), watched: true } },
      );
      return matchedCount === 1;
    },
    /** For a push of which nothing was found stored: listings no longer show its entry, unless a later look finds more. */
    async hide(
      { _id, owner, integration }: Pick<Entry, '_id' | 'owner' | 'integration'>,
      at: Date,
    ): Promise<void> {
      await entries.updateOne(
        { _id, owner, state: 'writing' },
        {
          $set: { watched: true, hiddenFrom: integration, due: lookAfter(at) },
          $unset: { integration: '', outcomes: '', fields: '' },
        },
      );
    },
    /** What was settled is announced, and is looked at again later. */
    async watch(syncId: string, owner: string, at: Date): Promise<void> {
      await entries.updateOne(
        { _id: syncId, owner, state: 'written' },
        { $set: { state: 'announced', due: lookAfter(at) } },
      );
    },
    /** More came than its watermarks have counted. */
    async settleAgain(
      { _id, owner, integration }: Pick<Entry, '_id' | 'owner' | 'integration'>,
      at: Date,
    ): Promise<void> {
      await entries.updateOne(
        { _id, owner },
        {
          $set: { integration, state: 'writing', owner: '', due: at, reopened: true },
          $unset: { watched: '', hiddenFrom: '' },
        },
      );
    },
    /** The watermarks of a reopened entry are open again. False if it has another owner by now. */
    async noteOpened(syncId: string, owner: string): Promise<boolean> {
      const { matchedCount } = await entries.updateOne(
        { _id: syncId, owner, state: 'writing' },
        { $unset: { reopened: '' } },
      );
      return matchedCount === 1;
    },
    /** Nothing came after it was settled, and nothing will. */
    async finish(
      { _id, owner, hiddenFrom }: Pick<Entry, '_id' | 'owner' | 'hiddenFrom'>,
      at: Date,
    ): Promise<void> {
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
