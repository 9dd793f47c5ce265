// Two owners and a caller at one endpoint, on a real MongoDB. fast-check draws what happens next: which operation runs, whose answer is
// lost, what the receiver answers, who is cut off. Afterwards every promise is checked (test/support/interleaving/promises.ts).
//
//   INTERLEAVINGS=1000 npx vitest run test/component/webhooks/interleavings.test.ts   more of them
//   SEED=7 TRACE=1 …                                                                  those of a seed, with all that happened
import { assert, asyncProperty } from 'fast-check';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { openEndpoints } from '../../../services/webhooks/src/endpoints/store.ts';
import { choices, play } from '../../support/interleaving/play.ts';
import { toFake } from '../../support/interleaving/world.ts';
import { openHouse, type House } from '../../support/webhooks.ts';

const numRuns = Number(process.env['INTERLEAVINGS'] ?? 25);
const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
let house: House;

beforeAll(async () => {
  house = await openHouse();
  await openEndpoints(house.store);
});
afterAll(() => house[Symbol.asyncDispose]());

it(
  'deliveries and failure counts are correct under every interleaving of two owners and a caller',
  { timeout: 3_600_000 },
  () =>
    assert(
      asyncProperty(choices, async (drawn) => {
        vi.useFakeTimers({ toFake: [...toFake], fakeNodeBuiltins: true });
        try {
          expect(await play(house.store, drawn)).toEqual([]);
        } finally {
          vi.useRealTimers();
        }
      }),
      // A smaller example costs minutes: TRACE shows what happened in this one.
      { numRuns, seed, endOnFailure: true },
    ),
);
