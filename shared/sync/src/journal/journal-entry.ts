// The journal entry of a push, and the fields that complete the entry.
import type { EntityType, RunError } from '@integration-sync/contracts';
import type { Collection } from '@integration-sync/runtime/store';
import type { StatusChange } from '../action.ts';
import type { Counts } from '../items/push-answer.ts';
import type { Draft, DraftKey } from '../kind.ts';

export interface Entry extends Counts {
  /** The sync id. */
  _id: string;
  integration: string;
  entityType: EntityType;
  /** The client whose key the caller had. */
  client?: string;
  /** The action of the request; absent for a push. */
  action?: StatusChange;
  state: 'writing' | 'written' | 'announced';
  owner: string;
  /** The `traceparent` of the push, kept until its events are published. */
  traceparent?: string;
  due?: Date;
  startedAt: Date;
  completedAt: Date | null;
  /** The internal ids of the push's records in their order, packed as hashes of 16 bytes. */
  ids?: Uint8Array;
  /** Whether the push may make or change drafts. */
  drafting: boolean;
  drafted: number;
  /** The errors of the first failed items; absent if no item failed. */
  errors?: readonly RunError[];
  evidence?: Evidence;
  /** Drafts that this push wrote and another push overwrote before this push was announced. */
  drafts?: KeptDrafts;
  /** What the push did to each of its records (records/push-outcome.ts); `fields` names the bits of changed fields. */
  outcomes?: Uint8Array;
  fields?: readonly string[];
  /** How many records the push's own process counted in the watermarks before it noticed that the entry has another owner. */
  counted?: Counted;
  /** Whether writes of the push arrived after another replica had settled the entry, and its watermarks are not open again. */
  reopened?: true;
  /** Whether the entry is settled, and writes of its process may still arrive. */
  watched?: true;
  /** The integration of a hidden entry, which has no field `integration`, so that no listing of pushes finds it. */
  hiddenFrom?: string;
  /** The time at which the TTL index removes the entry. */
  expireAt?: Date;
}

export type Entries = Collection<Entry>;

/** The phase of an entry, by the table in journal.ts. */
export type Phase = 'writing' | 'reopened' | 'hidden' | 'written' | 'settled' | 'watched' | 'announced';

export function phaseOf({ state, reopened, watched }: Pick<Entry, 'state' | 'reopened' | 'watched'>): Phase {
  if (state === 'writing') return reopened ? 'reopened' : watched ? 'hidden' : 'writing';
  if (state === 'written') return watched ? 'settled' : 'written';
  return watched ? 'watched' : 'announced';
}

/** By internal id, the fields that a push changed in records that another push overwrote before the entry was settled. */
export type Evidence = Readonly<Record<string, readonly string[]>>;

/** By internal id of the record: its draft as a push wrote it, and the keys of the draft that the push changed. */
export type KeptDrafts = Readonly<Record<string, { entry: Draft; changed: readonly DraftKey[] }>>;

export interface Counted {
  created: number;
  drafted: number;
}

/** The fields that an entry gets once its push has written. */
export type Completion = Counts &
  Pick<Entry, 'drafted'> &
  Required<Pick<Entry, 'outcomes' | 'fields'>> & { completedAt: Date };
