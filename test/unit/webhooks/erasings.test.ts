// Purges of answers after erasings: beside the deliveries, before the floors.
import { expect, it } from 'vitest';
import { openErasings } from '../../../services/webhooks/src/delivering/erasings.ts';
import { OwnedPartitions } from '../../../services/webhooks/src/owning/ownership.ts';
import { openTestLog } from '../../support/log.ts';
import { batchOf } from '../../support/webhook-parts.ts';

const erasing = (sequence: number, integration: string, partition: number) => ({
  ...batchOf(sequence, 1),
  integration,
  partition,
  isErasing: true,
});

/** Erasings of two integrations, each with one endpoint. A purge lasts until the test ends it. */
function setUp() {
  const owned = new OwnedPartitions({ isHeard: true, gaps: 0 });
  const purges: { ids: readonly string[]; end: PromiseWithResolvers<void> }[] = [];
  const erasings = openErasings({
    owned,
    endpoints: {
      subscribersOf: async (names) => new Map(names.map((name) => [name, [{ _id: `wh_${name}` }]])) as never,
    },
    forgetAnswers(ids) {
      const end = Promise.withResolvers<void>();
      purges.push({ ids, end });
      return end.promise;
    },
    retry: (_what, work) => work(),
    log: openTestLog().log,
  });
  const floors = () => [1, 2].map((partition) => owned.floorOf({ partition, through: 90, stream: '' }));
  const isEnded = async (partition: number): Promise<boolean> =>
    Promise.race([
      erasings.ended([{ partition }]).then(() => true),
      new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 20)),
    ]);
  return { erasings, purges, floors, isEnded };
}

it('a purge keeps the floor of its partition, and erasings that arrive meanwhile share the next purge', async () => {
  const { erasings, purges, floors, isEnded } = setUp();
  erasings.begin([batchOf(4, 1), erasing(5, 'acme', 1), erasing(6, 'acme', 1)]);
  expect(floors()).toEqual([4, 90]);
  await expect.poll(() => purges.length).toBe(1);
  erasings.begin([erasing(7, 'acme', 1), erasing(8, 'rival', 2), erasing(9, 'acme', 1)]);
  expect(floors()).toEqual([4, 7]);
  expect([await isEnded(1), await isEnded(2), await isEnded(3)]).toEqual([false, false, true]);
  expect(purges.map(({ ids }) => ids)).toEqual([['wh_acme']]);

  purges[0]?.end.resolve();
  await expect.poll(() => purges.map(({ ids }) => ids)).toEqual([['wh_acme'], ['wh_acme', 'wh_rival']]);
  expect(floors()).toEqual([6, 7]);
  purges[1]?.end.resolve();
  await erasings.ended([{ partition: 1 }, { partition: 2 }]);
  expect(floors()).toEqual([90, 90]);
  expect(purges).toHaveLength(2);
});

it('the floor stays before an erasing whose purge is cut off by the end of the process', async () => {
  const { erasings, purges, floors } = setUp();
  erasings.begin([erasing(5, 'acme', 1)]);
  await expect.poll(() => purges.length).toBe(1);
  purges[0]?.end.reject(new Error('the process stops'));
  await erasings.ended([{ partition: 1 }]);
  expect(floors()).toEqual([4, 90]);
});

it('the release of a partition waits 5 s for a purge, which may never succeed; the floor then stays before the erasing', async () => {
  const { erasings, purges, floors } = setUp();
  erasings.begin([erasing(5, 'acme', 1)]);
  const beganAt = performance.now();
  await erasings.ended([{ partition: 1 }]);
  expect([performance.now() - beganAt, floors()]).toEqual([5_000, [4, 90]]);
  purges[0]?.end.resolve();
  await expect.poll(floors).toEqual([90, 90]);
});
