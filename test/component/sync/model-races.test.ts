// Random pushes of one integration at the same moment, to two replicas: the outcome for each record is what
// the model makes of the same pushes in one order or another.
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { item, Model, storedBy, toldTo, type Item, type Stored } from '../../support/sync-model.ts';
import { openWorld, type World } from '../../support/sync.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
  await Promise.all([world.startCatalog(), world.startCatalog()]);
});
afterAll(() => world[Symbol.asyncDispose]());

const pushes = fc.array(fc.array(item, { minLength: 1, maxLength: 5 }), { minLength: 2, maxLength: 4 });
const rounds = fc.array(pushes, { minLength: 1, maxLength: 3 });

/** The outcome of one record, or what the model would make of it. */
interface Course {
  /** Of the record's items, by push. */
  statuses: string[][];
  stored: Stored | undefined;
  events: string[];
}

function* ordersOf<One>(all: readonly One[]): Generator<One[]> {
  if (all.length === 0) yield [];
  for (const [index, one] of all.entries()) {
    for (const others of ordersOf(all.toSpliced(index, 1))) yield [one, ...others];
  }
}

/** Every course that a record may take. */
function* coursesOf(
  id: string,
  before: Stored | undefined,
  byPush: readonly (readonly Item[])[],
): Generator<Course> {
  for (const order of ordersOf([...byPush.keys()])) {
    const model = new Model();
    if (before !== undefined) model.records.set(id, new Map(before));
    const statuses: string[][] = byPush.map(() => []);
    for (const push of order) statuses[push] = model.push(byPush[push] ?? []).statuses;
    const events = model.events.filter((event) => !event.startsWith('sync.')).toSorted();
    yield { statuses, stored: model.records.get(id), events };
  }
}

it(
  'concurrent pushes leave the records that the same pushes in some sequential order leave',
  { timeout: 180_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(rounds, async (all) => {
        const caller = world.caller();
        let before = new Map<string, Stored>();
        let toldBefore = 0;
        let count = 0;
        for (const round of all) {
          const answers = await Promise.all(round.map((items) => caller.push('suppliers', items)));
          count += round.length;
          const after = await storedBy(world, caller);
          const told = await toldTo(caller, count);
          const newly = told.slice(toldBefore);
          for (const id of new Set(round.flat().map(({ externalId }) => externalId))) {
            if (id === undefined) continue;
            const seen: Course = {
              statuses: round.map((items, push) =>
                items.flatMap(({ externalId }, index) =>
                  externalId === id ? [answers[push]?.records[index]?.status ?? 'none'] : [],
                ),
              ),
              stored: after.get(id),
              events: newly
                .filter((event) => event.split(' ')[1] === id && !event.startsWith('sync.'))
                .toSorted(),
            };
            const itsItems = round.map((items) => items.filter(({ externalId }) => externalId === id));
            expect([...coursesOf(id, before.get(id), itsItems)]).toContainEqual(seen);
          }
          before = after;
          toldBefore = told.length;
        }
        expect((await caller.list('suppliers')).total).toBe(before.size);
      }),
      { numRuns: Number(process.env['SYNC_MODEL_RUNS'] ?? 30) },
    );
  },
);
