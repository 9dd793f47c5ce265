// Pushes, archivings and erasings of the same suppliers by two replicas, each of which may be killed, and its pushes be taken over, between
// any two operations, on a real MongoDB. Callers hang up, and two mirrors ask for changes. fast-check draws what happens next
// (test/support/interleaving/push-play.ts has the settings). Afterwards every promise is checked (test/support/interleaving/record-promises.ts).
import { array, constantFrom, record } from 'fast-check';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { suppliers } from '../../../services/catalog/src/suppliers.ts';
import { journalIndexes } from '../../../shared/sync/src/journal/journal.ts';
import { listingIndexes } from '../../../shared/sync/src/names.ts';
import { changedIndex } from '../../../shared/sync/src/records/change-times.ts';
import { type Database, openDatabase } from '../../support/interleaving/database.ts';
import { openPushes, type Asked, type Served } from '../../support/interleaving/pushes.ts';
import {
  begins,
  callers,
  type Choices,
  expectAlways,
  numRuns,
  play,
  runs,
  runsOn,
  stepsOf,
  takesOver,
} from '../../support/interleaving/push-play.ts';
import { expectPromises } from '../../support/interleaving/record-promises.ts';

const served: Served = { service: 'catalog', kind: suppliers, aheadMs: 0 };
let database: Database;

beforeAll(async () => {
  database = await openDatabase(inject('engines').mongodb, async (store) => {
    await store.ensureIndexes('catalog_journal', journalIndexes);
    await store.ensureIndexes('suppliers', [...listingIndexes, changedIndex]);
  });
});
afterAll(() => database[Symbol.asyncDispose]());

const call = record({
  replica: constantFrom(...callers),
  action: constantFrom('push', 'push', 'push', 'archive', 'erase'),
  ids: constantFrom(['a'], ['a', 'b'], ['b', 'a'], ['b']),
  fields: record({ name: constantFrom('N', 'M'), code: constantFrom('1', null) }, { requiredKeys: ['name'] }),
}).map(({ replica, action, ids, fields }): Asked => ({
  replica,
  action,
  items: ids.map((externalId) => ({ externalId, ...fields })),
}));
const weights = {
  'an operation runs': 20,
  'a replica runs on': 8,
  'a call begins': 14,
  'an answer is lost': 3,
  'a replica is killed': 3,
  'a replica takes over': 3,
  'time passes': 1,
  'a mirror polls': 4,
  'a caller hangs up': 2,
} as const;
const choices = record<Choices>({
  calls: array(call, { minLength: 3, maxLength: 7 }),
  steps: stepsOf(weights, { minLength: 30, maxLength: 140 }),
});

const pushTo = (replica: string): Asked => ({
  replica,
  action: 'push',
  items: [{ externalId: 'a', name: replica }],
});

const known: Record<string, Choices> = {
  'a mirror gets a record whose write arrived after a recovery had found no write of its push': {
    calls: [pushTo('A'), pushTo('B')],
    steps: [
      ...runs(0, 0, 0, 0),
      ['a replica is killed', 0],
      takesOver,
      runsOn('sweeper', 17),
      ...runs(0),
      begins,
      runsOn('B', 16),
      ['a mirror polls', 0],
      runsOn('mirror 1', 18),
    ],
  },
  'a record is counted once although a second recovery opens its push again before the first recovery counts the record':
    {
      calls: [pushTo('A')],
      steps: [
        ...runs(0, 0, 0, 0, 0),
        takesOver,
        ...runs(1),
        runsOn('sweeper', 6),
        runsOn('A', 5),
        takesOver,
        ...runs(1, 1, 1, 1, 0, 1),
      ],
    },
};

const playSuppliers = (drawn: Choices): Promise<string[]> =>
  play(
    () => openPushes(database.store, served),
    drawn,
    (world) => expectPromises(database.store, served, world),
  );

it.each(Object.entries(known))('%s', async (_what, drawn) => {
  expect(await playSuppliers(drawn)).toEqual([]);
});

it(
  'records, counts, events, runs and mirrors are correct under every interleaving of pushes, status changes, kills and takeovers',
  { timeout: numRuns * 20_000 },
  () => expectAlways(choices, playSuppliers),
);
