// Which replica reads which partition, and what it reads first where the number of partitions has changed.
import { describe, expect, it } from 'vitest';
import { assign, openAssignment } from '../../../services/webhooks/src/partitions/assignment.ts';
import { openOrder, partitionsToRead } from '../../../services/webhooks/src/partitions/plan.ts';

const replicasOf = (count: number): string[] => Array.from({ length: count }, (_, n) => `replica-${n}`);
const sharesIn = (owners: readonly string[]): number[] =>
  [...Map.groupBy(owners, (owner) => owner).values()].map(({ length }) => length);

describe('partitions', () => {
  it.each([
    [2, 1],
    [2, 2],
    [4, 2],
    [4, 3],
    [64, 5],
    [64, 64],
  ])('%i of them go to %i replicas in equal shares', (number, count) => {
    const shares = sharesIn(assign(number, replicasOf(count)));
    expect(shares.reduce((sum, share) => sum + share, 0)).toBe(number);
    expect(Math.max(...shares)).toBe(Math.ceil(number / count));
  });

  it('have each one owner where there are more replicas', () => {
    expect(new Set(assign(2, replicasOf(5))).size).toBe(2);
  });

  it('have no owner where there is no replica', () => {
    expect(assign(4, [])).toEqual([]);
  });

  it('go to the same replicas in whatever order these were heard', () => {
    const replicas = replicasOf(4);
    const heard = ['replica-2', 'replica-0', 'replica-3', 'replica-1'];
    expect(openAssignment(() => heard)(16)).toEqual(assign(16, replicas));
  });

  it('mostly stay where they are when a replica goes', () => {
    const replicas = replicasOf(4);
    const before = assign(64, replicas);
    const after = assign(64, replicas.slice(1));
    const moved = before.filter((owner, partition) => owner !== 'replica-0' && owner !== after[partition]);
    expect(moved.length).toBeLessThan(24);
  });

  it('are assigned anew when the replicas are others, and to none by a replica that knows none', () => {
    let readers: string[] | undefined;
    const owners = openAssignment(() => readers);
    expect(partitionsToRead(2, 'a', owners)).toEqual([]);
    readers = ['a'];
    expect(partitionsToRead(2, 'a', owners)).toHaveLength(2);
    readers = ['a', 'b'];
    expect(partitionsToRead(2, 'a', owners)).toHaveLength(1);
  });

  it('are not divided where there is one: every replica reads it, also one that knows none', () => {
    expect(partitionsToRead(1, 'a', () => [])).toEqual([{ number: 1, partition: 0 }]);
  });
});

const of = (number: number, messages: number) => ({ number, messages });

describe('what came under another number', () => {
  it('is read first, and what is newer once nothing of it is left', () => {
    const read = openOrder();
    expect(read([of(1, 5), of(2, 7), of(4, 9)], 0)).toEqual([1]);
    expect(read([of(1, 1), of(2, 7), of(4, 9)], 9_000)).toEqual([1]);
    expect(read([of(2, 7), of(4, 9)], 10_000)).toEqual([2]);
    expect(read([of(4, 9)], 11_000)).toEqual([4]);
  });

  it('does not stop what is newer and is read already', () => {
    const read = openOrder();
    expect(read([of(2, 3)], 0)).toEqual([2]);
    expect(read([of(1, 4), of(2, 3)], 1)).toEqual([1, 2]);
  });

  it('is waited for as long as it gets less, and for ten seconds where it does not', () => {
    const read = openOrder();
    let left = 100;
    for (let at = 0; at < 60_000; at += 9_000) expect(read([of(1, (left -= 1)), of(2, 3)], at)).toEqual([1]);
    expect(read([of(1, left), of(2, 3)], 63_999)).toEqual([1]);
    expect(read([of(1, left), of(2, 3)], 64_000)).toEqual([1, 2]);
  });
});
