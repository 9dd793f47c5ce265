// The updates of a journal entry: by the process of its push, and by other pushes that overwrite what the push has written.
import { isFirst, isFound, type Filter } from '@integration-sync/runtime/store';
import type { Completion, Entries, Entry, Evidence, KeptDrafts } from './journal-entry.ts';
import { dueAfter, expiryAfter } from './journal-times.ts';

/** Entries whose pushes may have done more than the entry says, because further writes may come. */
export const unsettled: Filter<Entry> = { $or: [{ state: 'writing' }, { watched: true }] };

/** Entries whose pushes may have events that are not published yet. */
export const unannounced: Filter<Entry> = {
  $or: [{ state: { $in: ['writing', 'written'] } }, { watched: true }],
};

/** The fields of an entry that are removed once the push is announced. */
export const untilAnnounced = {
  due: '',
  ids: '',
  outcomes: '',
  fields: '',
  traceparent: '',
  drafts: '',
} as const;

export function openPushJournal(entries: Entries) {
  /** Makes another replica settle the entry once more, with all that the push's process knows. */
  const reopen = async (entry: Entry, at: Date): Promise<void> => {
    // The field `errors` is left out, because an erase may have removed errors meanwhile.
    const { _id, evidence = {}, errors: _errors, ...known } = entry;
    const again = { ...known, state: 'writing', owner: '', due: at, reopened: true } as const;
    const left = Object.entries(evidence).map(([id, changed]) => [`evidence.${id}`, changed]);
    // Sets all fields, because a tombstone may have replaced the entry.
    const $set = { ...again, ...Object.fromEntries(left) };
    const $unset = { watched: '', hiddenFrom: '', expireAt: '' } as const;
    if (await isFound(entries.updateOne({ _id }, { $set, $unset }))) return;
    // The replica that settled the entry found no writes of the push, so the entry was removed.
    if (!(await isFirst(entries.insertOne({ _id, evidence, ...again })))) await reopen(entry, at);
  };

  return {
    /** Inserts an entry. Resolves with false if an entry or a tombstone with this sync id exists. */
    insert: (entry: Entry): Promise<boolean> => isFirst(entries.insertOne(entry)),
    /** Completes an entry. Resolves with false if the entry has another owner by now. */
    complete(syncId: string, owner: string, completion: Completion): Promise<boolean> {
      const $set = { ...completion, state: 'written', due: dueAfter(completion.completedAt) } as const;
      const $unset = { evidence: '', reopened: '' } as const;
      return isFound(entries.updateOne({ _id: syncId, owner, state: 'writing' }, { $set, $unset }));
    },
    async markAnnounced(syncIds: readonly string[], at: Date): Promise<void> {
      await entries.updateMany(
        { _id: { $in: [...syncIds] }, state: 'written' },
        { $set: { state: 'announced', expireAt: expiryAfter(at) }, $unset: untilAnnounced },
      );
    },
    /** The process could not announce these pushes: makes their entries due now, for any replica. */
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
    /** Copies drafts to the entry of the push that wrote them, unless the push is announced. */
    async keepDrafts(syncId: string, draftById: ReadonlyMap<string, KeptDrafts[string]>): Promise<void> {
      const drafts = [...draftById].map(([id, draft]) => [`drafts.${id}`, draft]);
      await entries.updateOne({ _id: syncId, ...unannounced }, { $set: Object.fromEntries(drafts) });
    },
    async keptDraftsOf(syncId: string): Promise<KeptDrafts> {
      const found = await entries.findOne({ _id: syncId }, { projection: { drafts: 1 } });
      return found?.drafts ?? {};
    },
  };
}
