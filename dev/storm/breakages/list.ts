// Ways to break the service, each in one line of its source, and the class of violations by which a storm has to name it.
import type { ViolationClass } from '../check/violations.ts';
import type { Without } from '../run.ts';

export interface Breakage {
  name: string;
  says: string;
  /** The path of the broken file from the root of the repository. */
  file: string;
  /** The text to replace, which must stand in the file exactly once. */
  search: string;
  replace: string;
  found: ViolationClass;
  /** How long a storm must run to find the breakage. */
  seconds: number;
  without?: Without;
}

export const breakages: readonly Breakage[] = [
  {
    name: 'push-504',
    says: 'batches answers every push 504',
    file: 'shared/sync/src/items/body.ts',
    search: '  const body = readObject(bytes, kind.plural, errors);',
    replace: `  if (kind.plural === 'batches') throw new Failure('timeout', 'Broken on purpose.');
  const body = readObject(bytes, kind.plural, errors);`,
    found: 'floor',
    seconds: 16,
  },
  {
    name: 'delivery-twice',
    says: 'one delivery in twenty is sent twice',
    file: 'services/webhooks/src/sending/send.ts',
    search: '    const durationMs = ',
    replace:
      '    if (Math.random() < 0.05) await attempt(known, sending, at, startedAt);\n    const durationMs = ',
    found: 'delivery-twice',
    seconds: 60,
  },
  {
    name: 'events-reversed',
    says: 'the events of a push are published in reverse, sync.completed first',
    file: 'shared/sync/src/announcing/announcement.ts',
    search: '  return [...ofRecords, ...ofDrafts, completed];',
    replace: '  return [...ofRecords, ...ofDrafts, completed].toReversed();',
    found: 'event-order',
    seconds: 16,
  },
  {
    name: 'undescribed',
    says: 'sync.completed gives the time of its end as a number',
    file: 'shared/sync/src/announcing/announcement.ts',
    search: '    completedAt: timestamp,',
    replace: '    completedAt: Date.now() as unknown as string,',
    found: 'undescribed',
    seconds: 16,
  },
  {
    name: 'attempts-unlogged',
    says: 'a fifth of the attempts is not in the attempt log',
    file: 'services/webhooks/src/delivering/deliver.ts',
    search: '    if (next !== undefined) attemptLog',
    replace: '    if (next !== undefined && Math.random() > 0.2) attemptLog',
    found: 'attempt-log',
    seconds: 30,
  },
  {
    name: 'endless-answers-taken',
    says: 'an answer that never ends counts as a success',
    file: 'services/webhooks/src/sending/outcome.ts',
    search: '  if (broken !== undefined) return',
    replace: '  if (broken === null) return',
    found: 'attempt-log',
    seconds: 16,
  },
  {
    name: 'retry-soon',
    says: 'the first retry comes after 0.1 s',
    file: 'shared/contracts/src/limits.ts',
    search: 'attemptDelaysMs = [0, 1_000,',
    replace: 'attemptDelaysMs = [0, 100,',
    found: 'schedule',
    seconds: 16,
  },
  {
    name: 'disabling-25',
    says: 'an endpoint is disabled after 25 failures',
    file: 'shared/contracts/src/limits.ts',
    search: 'failuresBeforeDisabling: 10,',
    replace: 'failuresBeforeDisabling: 25,',
    found: 'disabling',
    // The eleventh failure comes 79 s after the first one; the next try is 30 s later. The check forgives what a fault struck.
    seconds: 83,
    without: ['faults', 'last deliveries'],
  },
];
