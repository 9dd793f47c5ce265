// What the process of a push does with the push's entry in the journal, and what other pushes leave with it.
import { isFirst, type Filter } from '@integration-sync/runtime/store';
import type { Completion, Entries, Entry, Evidence } from './journal-entry.ts';
import { dueAfter, expiryAfter } from './journal-times.ts';

/** The entries of which what their pushes did may still have to be found out. */
export const unsettled: Filter<Entry> = { $or: [{ state: 'writing' }, { watched: true }] };

/** What an entry keeps for as long as there may be something to announce. */
export const untilAnnounced = { due: '', ids: '', outcomes: '', fields: '', traceparent: '' } as const;

export function openPushJournal(entries: Entries) {
  /** Puts an entry back to be settled once more, with all that its writer knows. */
  const reopen = async (entry: Entry, at: Date): Promise<void> => {
    const { _id, evidence = {}, errors, ...known } = entry;
    const again = { ...known, state: 'writing', owner: '', due: at, reopened: true } as const;
    const left = Object.entries(evidence).map(([id, changed]) => [`evidence.${id}`, changed]);
    // All that is known, for there may be a tombstone in its place; but not errors, which may have been forgotten since.
    const { matchedCount } = await entries.updateOne(
      { _id },
      {
        $set: { ...again, ...Object.fromEntries(left) },
        $unset: { watched: '', hiddenFrom: '', expireAt: '' },
      },
    );
    if (matchedCount === 1) return;
    // It had done nothing when it was settled, and so it was removed.
    const whole = { _id, evidence, ...again, ...(errors === undefined ? {} : { errors }) };
    if (!(await isFirst(entries.insertOne(whole)))) await reopen(entry, at);
  };

  return {
    /** False if something stands there already. */
    insert: (entry: Entry): Promise<boolean> => isFirst(entries.insertOne(entry)),
    /** False if the entry has another owner by now. */
    async complete(syncId: string, owner: string, completion: Completion): Promise<boolean> {
      const { matchedCount } = await entries.updateOne(
        { _id: syncId, owner, state: 'writing' },
        {
          $set: { ...completion, state: 'written', due: dueAfter(completion.completedAt) },
          $unset: { evidence: '', reopened: '' },
        },
      );
      return matchedCount === 1;
    },
    async markAnnounced(syncIds: readonly string[], at: Date): Promise<void> {
      await entries.updateMany(
        { _id: { $in: [...syncIds] }, state: 'written' },
        { $set: { state: 'announced', expireAt: expiryAfter(at) }, $unset: untilAnnounced },
      );
    },
    /** Their process could not announce them: they are due at once, for any replica. */
    async leave(syncIds: readonly string[], owner: string, at: Date): Promise<void> {
      await entries.updateMany(
        { _id: { $in: [...syncIds] }, owner, state: 'written' },
        { $set: { due: at } },
      );
    },
    reopen,
    async keepEvidence(syncId: string, changedById: ReadonlyMap<string, readonly string[]>): Promise<void> {
      const evidence = [...changedById].map(([id, changed]) => [`evidence.${id}`, [...changed]]);
      await entries.updateOne({ _id: syncId, ...unsettled }, { $set: Object.fromEntries(evidence) });
    },
    async evidenceOf(syncId: string): Promise<Evidence> {
      const found = await entries.findOne({ _id: syncId }, { projection: { evidence: 1 } });
      return found?.evidence ?? {};
    },
    /** Removes what runs of the kind say of failed items with these ids, which may quote what such an item held. */
    async forgetErrors(
      { integration, entityType }: Pick<Entry, 'integration' | 'entityType'>,
      externalIds: readonly string[],
    ): Promise<void> {
      const ofThese = { $in: [...externalIds] };
      await entries.updateMany(
        { 'errors.externalId': ofThese, entityType, $or: [{ integration }, { hiddenFrom: integration }] },
        { $pull: { errors: { externalId: ofThese } } },
        { hint: 'failed-ids' },
      );
    },
  };
}
