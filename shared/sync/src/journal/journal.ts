// The journal: write-ahead log, outbox and sync history in one. One entry per push.
//
//   writing     its records are being written; its caller has no answer. Shown as running.
//   written     answered, or about to be; its events may still be due. Shown as completed.
//   announced   its events are on the stream. Kept for the history, then expires.
//
// `due` says from when on another replica may take the entry over: it stands on every entry that is not announced or is
// watched, and only there. `owner` names the process that works on it: a replica that takes it over puts its own name there,
// and from then on the owner before can no longer complete it.
//
// A replica that settles an entry that was left `writing` cannot know whether all that its writer has sent has come: an
// operation may wait on a connection that stands still, and the writer may be slow. So such an entry is `watched`:
// it keeps what was found, others leave evidence with it as with one that is being written, and it is due once
// more when nothing can come any more. If more is found then, it is `writing` again, to be settled as it now is.
// If not, it is done with. One of which nothing was found written stays `writing` meanwhile, where no history
// shows it, and then goes.
//
// Where a push was taken for dead before it had an entry, a tombstone stands: an id, and nothing by which a
// query finds it, so that the entry can no longer come.
import type { NamedIndex, Store } from '@integration-sync/runtime/store';
import type { StoredEntry } from './journal-entry.ts';
import { openPushJournal, type PushJournal } from './journal-pushes.ts';
import { openJournalQuestions, type JournalQuestions } from './journal-questions.ts';
import { openRecoveryJournal, type RecoveryJournal, type Tombstone } from './journal-recovery.ts';

export interface Journal extends PushJournal, RecoveryJournal, JournalQuestions {}

export const journalIndexes: readonly NamedIndex[] = [
  { name: 'history', key: { integration: 1, _id: -1 } },
  { name: 'left-behind', key: { due: 1 }, sparse: true },
  { name: 'failed-ids', key: { 'errors.externalId': 1 }, sparse: true },
  { name: 'expiry', key: { expireAt: 1 }, expireAfterSeconds: 0 },
];

export function openJournal(store: Store, collection: string): Journal {
  const entries = store.collection<StoredEntry>(collection);
  return {
    ...openPushJournal(entries),
    ...openRecoveryJournal(entries, store.collection<Tombstone>(collection)),
    ...openJournalQuestions(entries),
  };
}
