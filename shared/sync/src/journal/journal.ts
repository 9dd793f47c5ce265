// The journal: write-ahead log, outbox and history of pushes. Each push has one entry.
//
//   phase      stored as                     shown as   due                   next phase
//   ─────────  ────────────────────────────  ─────────  ────────────────────  ──────────────────────────────────────────────
//   writing    writing                       running    15 s after the start  its own process completes it: written;
//                                                                             another replica takes it over: settled, or
//                                                                             hidden if no write of the push is found
//   written    written                       completed  15 s after the end    events are published: announced
//   announced  announced                     completed  –                     expiry; its own process wrote on after
//                                                                             another replica had settled it: reopened
//   settled    written, watched              completed  15 s after settling   events are published: watched
//   watched    announced, watched            completed  150 s after that      no further write: announced; else reopened
//   hidden     writing, watched, hiddenFrom  –          150 s after that      no further write: removed; else reopened
//   reopened   writing, reopened             running    immediately           its watermarks are open again: writing
//   (none)     a tombstone                   –          –                     expiry
//
// From `due` on, another replica may take the entry over. `owner` is the id of the process that works on the entry. A replica that
// takes the entry over sets its own id, and from then on the owner before can no longer complete the entry.
//
// A replica that settles an entry in phase `writing` cannot know whether further writes of the push will arrive: a connection may
// be frozen, or the process slow. So the entry is watched: it keeps the outcomes found, other pushes leave evidence with it, and
// a replica checks once more after 150 s, when no write can arrive any more.
//
// A tombstone takes the id of a push that counts as dead before it had an entry, so that no entry can be inserted. It has no
// field by which a query finds it.
import type { NamedIndex, Store } from '@integration-sync/runtime/store';
import type { Entry } from './journal-entry.ts';
import { openErasingJournal } from './journal-erasing.ts';
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
  const entries = store.collection<Entry>(collection);
  return {
    ...openPushJournal(entries),
    ...openErasingJournal(entries),
    ...openRecoveryJournal(entries, store.collection<Tombstone>(collection)),
    ...openSettling(entries),
    ...openJournalQuestions(entries),
  };
}
