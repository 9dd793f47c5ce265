// Journal entries of pushes under way, for tests that insert them without a push.
import type { Entry } from '../../shared/sync/src/journal/journal-entry.ts';

type Given = Pick<Entry, '_id' | 'integration' | 'startedAt'> & Partial<Entry>;

export const writingEntry = (given: Given): Entry => ({
  entityType: 'supplier',
  state: 'writing',
  owner: 'test',
  created: 0,
  updated: 0,
  unchanged: 0,
  failed: 0,
  completedAt: null,
  drafting: false,
  drafted: 0,
  ids: new Uint8Array(),
  ...given,
});
