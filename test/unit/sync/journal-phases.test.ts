import { expect, it } from 'vitest';
import { phaseOf } from '../../../shared/sync/src/journal/journal-entry.ts';

// The table of shared/sync/src/journal/journal.ts.
it.each([
  ['writing', { state: 'writing' }],
  ['reopened', { state: 'writing', reopened: true }],
  ['hidden', { state: 'writing', watched: true }],
  ['written', { state: 'written' }],
  ['settled', { state: 'written', watched: true }],
  ['watched', { state: 'announced', watched: true }],
  ['announced', { state: 'announced' }],
] as const)('the phase of a journal entry is %s where its stored fields are %j', (phase, stored) => {
  expect(phaseOf(stored)).toBe(phase);
});
