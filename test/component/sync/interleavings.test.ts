// Pushes of the same batches by two replicas, each of which may be killed, and its pushes be taken over, between any two operations, on a
// real MongoDB. fast-check draws what happens next. Afterwards statements agree with their batches, and each change is announced once.
// test/support/interleaving/push-play.ts has the settings.
import type { DdsEntry } from '@integration-sync/contracts';
import { array, constantFrom, record } from 'fast-check';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { batchesKind } from '../../../services/batches/src/batches.ts';
import { journalIndexes } from '../../../shared/sync/src/journal/journal.ts';
import { type Database, openDatabase } from '../../support/interleaving/database.ts';
import {
  begins,
  callers,
  type Choices,
  expectAlways,
  numRuns,
  play,
  runs,
  stepsOf,
  takesOver,
} from '../../support/interleaving/push-play.ts';
import { type Asked, openPushes, type Served } from '../../support/interleaving/pushes.ts';
import { batch, expectAgreement, expectChain, numbers } from '../../support/statements.ts';

const resolveProducts = async (ids: readonly string[]) =>
  new Map(ids.map((id) => [id, { hsCode: '4407', country: 'SE' }]));
const served: Served = { service: 'batches', kind: batchesKind(resolveProducts), aheadMs: 3_600_000 };
let database: Database;

beforeAll(async () => {
  database = await openDatabase(inject('engines').mongodb, (store) =>
    store.ensureIndexes('batches_journal', journalIndexes),
  );
});
afterAll(() => database[Symbol.asyncDispose]());

interface Push {
  replica: (typeof callers)[number];
  ids: readonly string[];
  numbers: 'given' | 'cleared' | 'unsaid';
  autoCreateDDS: boolean;
}

const callOf = ({ replica, ids, numbers: which, autoCreateDDS }: Push, nth: number): Asked => {
  const fields = { given: numbers(`R${nth}`, `V${nth}`), cleared: numbers(null), unsaid: {} }[which];
  const items = ids.map((id) => batch(id, { quantity: nth, ...fields }));
  return { replica, action: 'push', items, beside: { autoCreateDDS } };
};

const weights = {
  'an operation runs': 20,
  'a replica runs on': 8,
  'a call begins': 12,
  'an answer is lost': 1,
  'a replica is killed': 1,
  'a replica takes over': 2,
  'time passes': 1,
} as const;
const choices = record<Choices>({
  calls: array(
    record<Push>({
      replica: constantFrom(...callers),
      ids: constantFrom(['a'], ['a', 'b'], ['b', 'a']),
      numbers: constantFrom('given', 'given', 'cleared', 'cleared', 'unsaid'),
      autoCreateDDS: constantFrom(true, false, false, false),
    }),
    { minLength: 2, maxLength: 4 },
  ).map((pushes) => pushes.map(callOf)),
  steps: stepsOf(weights, { minLength: 20, maxLength: 80 }),
});

const both = (first: Push['numbers'], autoCreateDDS: boolean): Asked[] =>
  [
    { replica: 'A', ids: ['a'], numbers: first, autoCreateDDS } as const,
    { replica: 'B', ids: ['a'], numbers: 'given', autoCreateDDS: true } as const,
  ].map(callOf);

const known: Record<string, Choices> = {
  'a push reads that there is no statement, then numbers and statement come, and then it clears the numbers':
    {
      calls: both('cleared', false),
      steps: [...runs(0, 0, 0, 0, 0), begins, ...runs(1, 1, 1, 29, 29, 1, 49, 0, 0, 0, 0, 0, 0)],
    },
  'a replica takes over a push that has not written its statement, and finds it written when it writes for it':
    {
      calls: both('given', true),
      steps: [...runs(0, 0, 0, 0, 0, 0, 0, 0), begins, ...runs(1, 13, 0, 0, 0), takesOver, ...runs(0, 0)],
    },
};

const playBatches = (drawn: Choices): Promise<string[]> =>
  play(
    () => openPushes(database.store, served),
    drawn,
    async (world) => {
      const stored = await database.store
        .collection<{ integration: string; entry: DdsEntry }>('dds')
        .find({ integration: world.integration })
        .toArray();
      const listed = stored.map(({ entry }) => entry);
      await expectAgreement(database, world, listed);
      expectChain(
        world.events().filter(({ body }) => body.event.startsWith('dds.')),
        listed,
      );
    },
  );

it.each(Object.entries(known))('statements agree with their batches although %s', async (_what, drawn) => {
  expect(await playBatches(drawn)).toEqual([]);
});

it(
  'statements agree with their batches under every interleaving of pushes, kills and takeovers',
  { timeout: numRuns * 20_000 },
  () => expectAlways(choices, playBatches),
);
