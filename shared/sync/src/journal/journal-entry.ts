// What the journal keeps of one push, and what it is completed with.
import type { EntityType, RunError } from '@integration-sync/contracts';
import type { Collection } from '@integration-sync/runtime/store';
import type { StatusChange } from '../action.ts';
import type { Counts } from '../items/answer.ts';

export interface Entry extends Counts {
  /** The sync id. */
  _id: string;
  integration: string;
  entityType: EntityType;
  /** Absent for a push. */
  action?: StatusChange;
  state: 'writing' | 'written' | 'announced';
  owner: string;
  /** Until its events are published, the trace to which it belongs. */
  traceparent?: string;
  due?: Date;
  startedAt: Date;
  completedAt: Date | null;
  /** The records of the push in the order of their places: their hashes, 16 bytes each. */
  ids?: Uint8Array;
  drafting: boolean;
  drafted: number;
  /** The first items that failed; nothing where none did. */
  errors?: readonly RunError[];
  evidence?: Evidence;
  /** What the push did to its records, and the names of the fields that this is said with. */
  outcomes?: Uint8Array;
  fields?: readonly string[];
  /** What its own process has counted in the listings before it found out that it had lost the entry. */
  counted?: Counted;
  /** More of it reached the database after another replica had settled it, and its listings are not open again yet. */
  reopened?: true;
  /** Settled for a writer of whom more may come. */
  watched?: true;
  /** The integration of a watched entry that no history shows. */
  hiddenFrom?: string;
}

/** An entry as the database has it, which removes it after `expireAt`. */
export type StoredEntry = Entry & { expireAt?: Date };

export type Entries = Collection<StoredEntry>;

/** Where an entry stands; journal.ts has the table. */
export type Phase = 'writing' | 'reopened' | 'hidden' | 'written' | 'settled' | 'watched' | 'announced';

export function phaseOf({ state, reopened, watched }: Pick<Entry, 'state' | 'reopened' | 'watched'>): Phase {
  if (state === 'writing') return reopened ? 'reopened' : watched ? 'hidden' : 'writing';
  if (state === 'written') return watched ? 'settled' : 'written';
  return watched ? 'watched' : 'announced';
}

/** By internal id, what a push changed in records that another one has changed again before it settled. */
export type Evidence = Readonly<Record<string, readonly string[]>>;

export interface Counted {
  created: number;
  drafted: number;
}

/** What is known once a push has written. */
export type Completion = Counts &
  Pick<Entry, 'drafted'> &
  Required<Pick<Entry, 'outcomes' | 'fields'>> & { completedAt: Date };
