// Pushes of the same batches by two replicas, each of which may be killed, and its pushes be taken over, between any two operations, on a
// real MongoDB. fast-check draws what happens next. Afterwards statements agree with their batches, and each change is announced once.
//
//   INTERLEAVINGS=1000 npx vitest run test/component/sync/interleavings.test.ts   more of them
//   SEED=7 TRACE=1 …                                                             those of a seed, with all that happened
import type { DdsEntry } from '@integration-sync/contracts';
import { array, assert, asyncProperty, constant, constantFrom, nat, oneof, record, tuple } from 'fast-check';
import { afterAll, beforeAll, expect, inject, it, vi } from 'vitest';
import { journalIndexes } from '../../../shared/sync/src/journal/journal.ts';
import { type Database, openDatabase } from '../../support/interleaving/database.ts';
import { openPushes, type Pushes } from '../../support/interleaving/pushes.ts';
import { faked } from '../../support/faked.ts';
import { batch, expectAgreement, expectChain, numbers } from '../../support/statements.ts';

const numRuns = Number(process.env['INTERLEAVINGS'] ?? 20);
const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const began = new Date('2026-01-02T00:00:00Z');
let database: Database;

beforeAll(async () => {
  database = await openDatabase(inject('engines').mongodb, (store) =>
    store.ensureIndexes('batches_journal', journalIndexes),
  );
});
afterAll(() => database[Symbol.asyncDispose]());

const kinds = {
  'an operation runs': 20,
  'a replica runs on': 8,
  'a push begins': 12,
  'an answer is lost': 1,
  'a replica is killed': 1,
  'a replica takes over': 2,
  'time passes': 1,
} as const;
type Kind = keyof typeof kinds;
const names = ['A', 'B'] as const;

interface Push {
  replica: (typeof names)[number];
  ids: readonly string[];
  numbers: 'given' | 'cleared' | 'unsaid';
  autoCreateDDS: boolean;
}

interface Choices {
  pushes: Push[];
  steps: (readonly [what: Kind, which: number])[];
}

const kind = oneof(
  ...Object.entries(kinds).map(([name, weight]) => ({ weight, arbitrary: constant(name as Kind) })),
);
const choices = record<Choices>({
  pushes: array(
    record<Push>({
      replica: constantFrom(...names),
      ids: constantFrom(['a'], ['a', 'b'], ['b', 'a']),
      numbers: constantFrom('given', 'given', 'cleared', 'cleared', 'unsaid'),
      autoCreateDDS: constantFrom(true, false, false, false),
    }),
    { minLength: 2, maxLength: 4 },
  ),
  steps: array(tuple(kind, nat(99)), { minLength: 20, maxLength: 80, size: 'max' }),
});

const both = (first: Push['numbers'], autoCreateDDS: boolean): Push[] => [
  { replica: 'A', ids: ['a'], numbers: first, autoCreateDDS },
  { replica: 'B', ids: ['a'], numbers: 'given', autoCreateDDS: true },
];
const runs = (...which: number[]): Choices['steps'] => which.map((one) => ['an operation runs', one]);
const begins = [['a push begins', 0]] as const;

const known: Record<string, Choices> = {
  'a push reads that there is no statement, then numbers and statement come, and then it clears the numbers':
    {
      pushes: both('cleared', false),
      steps: [...runs(0, 0, 0, 0, 0), ...begins, ...runs(1, 1, 1, 29, 29, 1, 49, 0, 0, 0, 0, 0, 0)],
    },
  'a replica takes over a push that has not written its statement, and finds it written when it writes for it':
    {
      pushes: both('given', true),
      steps: [
        ...runs(0, 0, 0, 0, 0, 0, 0, 0),
        ...begins,
        ...runs(1, 13, 0, 0, 0),
        ['a replica takes over', 0],
        ...runs(0, 0),
      ],
    },
};

const bodyOf = ({ ids, numbers: which, autoCreateDDS }: Push, nth: number): object => {
  const fields = { given: numbers(`R${nth}`, `V${nth}`), cleared: numbers(null), unsaid: {} }[which];
  return { batches: ids.map((id) => batch(id, { quantity: nth, ...fields })), autoCreateDDS };
};

const clients = [...names, 'sweeper'];
/** The most operations that a replica runs while all others wait: a push takes about a dozen. */
const operationsMax = 20;

async function runOn(world: Pushes, name: string | undefined, count: number): Promise<void> {
  for (let nth = 0; nth < count; nth += 1) {
    const next = world.gates.waiting.find(({ client }) => client.name === name);
    if (next === undefined) return;
    await world.run(next);
  }
}

async function happen(world: Pushes, what: Kind, which: number): Promise<void> {
  const { waiting } = world.gates;
  const operation = waiting[which % Math.max(waiting.length, 1)];
  if (what === 'an operation runs') return operation && world.run(operation);
  if (what === 'an answer is lost') return operation && world.run(operation, true);
  if (what === 'a replica runs on')
    return runOn(world, clients[which % clients.length], which % operationsMax);
  if (what === 'a replica takes over') return world.takeOver();
  if (what === 'a replica is killed') return world.kill(clients[which % clients.length] ?? '');
  return world.pass();
}

/** The promise that was broken, if any. */
async function play({ pushes, steps }: Choices): Promise<string[]> {
  vi.useFakeTimers({ now: began, ...faked });
  using _random = vi.spyOn(Math, 'random').mockReturnValue(0.5);
  await using world = await openPushes(database.store);
  try {
    const open = pushes.entries().toArray();
    const begin = async (): Promise<void> => {
      const [nth, push] = open.shift() ?? [0, undefined];
      if (push !== undefined) await world.push(push.replica, bodyOf(push, nth));
    };
    await begin();
    for (const [what, which] of steps) {
      if (what === 'a push begins') await begin();
      else await happen(world, what, which);
    }
    while (open.length > 0) await begin();
    expect(await world.settle()).toBe(true);
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
    return [];
  } catch (error) {
    return [String(error), ...(process.env['TRACE'] === undefined ? [] : world.history)];
  } finally {
    vi.useRealTimers();
  }
}

it.each(Object.entries(known))('statements agree with their batches although %s', async (_what, drawn) => {
  expect(await play(drawn)).toEqual([]);
});

it(
  'statements agree with their batches under every interleaving of pushes, kills and takeovers',
  { timeout: numRuns * 20_000 },
  () =>
    assert(
      asyncProperty(choices, async (drawn) => {
        const broken = await play(drawn);
        if (broken.length > 0 && process.env['TRACE'] !== undefined) broken.push(JSON.stringify(drawn));
        expect(broken).toEqual([]);
      }),
      { numRuns, seed, endOnFailure: process.env['SHRINK'] === undefined },
    ),
);
