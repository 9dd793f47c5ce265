// The journal: write-ahead log, outbox and sync history in one. One entry per push.
//
//   phase      stored as                     shown as   due                   left by
//   ─────────  ────────────────────────────  ─────────  ────────────────────  ──────────────────────────────────────────────
//   writing    writing                       running    15 s after it began   its own process, with its outcomes: written;
//                                                                             a replica that takes it over: settled, or
//                                                                             hidden where nothing of it is found
//   written    written                       completed  15 s after it ended   events are published: announced
//   announced  announced                     completed  –                     expiry; its own process, which wrote on after
//                                                                             others had settled it: reopened
//   settled    written, watched              completed  15 s after that       events are published: watched
//   watched    announced, watched            completed  150 s after that      nothing more came: announced; more: reopened
//   hidden     writing, watched, hiddenFrom  –          150 s after that      nothing more came: removed; more: reopened
//   reopened   writing, reopened             running    at once               its listings are open again: writing
//   (none)     a tombstone                   –          –                     expiry
//
// From `due` on another replica may take the entry over. `owner` names the process that works on it: a replica that takes
// it over puts its own name there, and from then on the owner before can no longer complete it.
//
// A replica that settles an entry that was left `writing` cannot know whether all that its writer has sent has come: an
// operation may wait on a connection that stands still, and the writer may be slow. So such an entry is watched: it
// keeps what was found, other pushes leave evidence with it as with one that is being written, and a replica looks once
// more when nothing can come any more.
//
// Where a push was taken for dead before it had an entry, a tombstone stands: an id, and nothing by which a
// query finds it, so that the entry can no longer come.
import type { NamedIndex, Store } from '@integration-sync/runtime/store';
import type { StoredEntry } from './journal-entry.ts';
import { openPushJournal } from './journal-pushes.ts';
import { openJournalQuestions } from './journal-questions.ts';
import { openRecoveryJournal, openSettling, type Tombstone } from './journal-recovery.ts';

export type Journal = ReturnType<typeof openJournal>;

export const journalIndexes: readonly NamedIndex[] = [
  { name: 'history', key: { integration: 1, _id: -1 } },
  { name: 'left-behind', key: { due: 1 }, sparse: true },
  { name: 'failed-ids', key: { 'errors.externalId': 1 }, sparse: true },
  { name: 'expiry', key: { expireAt: 1 }, expireAfterSeconds: 0 },
];

export function openJournal(store: Store, collection: string) {
  const entries = store.collection<StoredEntry>(collection);
  return {
    ...openPushJournal(entries),
    ...openRecoveryJournal(entries, store.collection<Tombstone>(collection)),
    ...openSettling(entries),
    ...openJournalQuestions(entries),
  };
}
