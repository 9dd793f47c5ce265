import { partitionsNumber } from '@integration-sync/contracts';
import { expect, it } from 'vitest';
import { assign } from '../../../services/webhooks/src/owning/ownership.ts';

const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `replica-${n}`);

it.each([1, 2, 3, 5, 31, 32, 40])(
  'the assignment of partitions gives none of %i replicas more than its share',
  (count) => {
    const owners = assign(names(count));
    expect(owners).toHaveLength(partitionsNumber);
    const counts = Object.values(Object.groupBy(owners, (owner) => owner)).map((some) => some?.length ?? 0);
    expect(Math.max(...counts)).toBeLessThanOrEqual(Math.ceil(partitionsNumber / count));
  },
);

it('the assignment of partitions is the same for the same replicas in any order', () => {
  expect(assign(names(5).toReversed())).toEqual(assign(names(5)));
});

it('the assignment of partitions moves few partitions to a new replica', () => {
  const [before, after] = [assign(names(4)), assign(names(5))];
  const moved = before.filter((owner, partition) => owner !== after[partition]);
  expect(moved.length).toBeLessThanOrEqual(14);
});

it('the assignment of partitions is empty without replicas', () => {
  expect(assign([])).toEqual([]);
});
