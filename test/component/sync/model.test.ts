// Random pushes by several callers against a model in a Map: the same answers, the same records, the same
// events.
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { item, Model, storedBy, text, toldTo } from '../../support/sync-model.ts';
import { openWorld, type World } from '../../support/sync.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
  await Promise.all([world.startCatalog(), world.startCatalog()]);
});
afterAll(() => world[Symbol.asyncDispose]());

const pushes = fc.array(fc.record({ client: fc.nat(1), items: fc.array(item, { maxLength: 8 }) }), {
  minLength: 1,
  maxLength: 8,
});

it('pushes answer, store and announce what a reference model computes', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(pushes, async (sequence) => {
      const clients = [world.caller(), world.caller()].map((caller) => ({
        caller,
        model: new Model(),
        count: 0,
      }));
      for (const { client, items } of sequence) {
        const one = clients[client];
        if (one === undefined) throw new Error('there are two');
        const expected = one.model.push(items);
        const { created, updated, records } = await one.caller.push('suppliers', items);
        one.count += 1;
        expect({ created, updated, statuses: records.map(({ status }) => status) }).toEqual(expected);
      }
      for (const { caller, model, count } of clients) {
        const stored = await storedBy(world, caller);
        expect(stored).toEqual(model.records);
        const listed = await caller.listAll('suppliers', 'limit=2');
        expect(listed.map(({ externalId }) => externalId)).toEqual([...model.records.keys()]);
        expect(listed.map(({ name }) => text(name))).toEqual(
          [...model.records.values()].map((one) => one.get('name')),
        );
        expect((await caller.list('suppliers')).total).toBe(model.records.size);
        // The events of one push are in order; those of two may overtake each other.
        const told = await toldTo(caller, count);
        expect(told.toSorted()).toEqual(model.events.toSorted());
      }
    }),
    { numRuns: Number(process.env['SYNC_MODEL_RUNS'] ?? 30) },
  );
});
