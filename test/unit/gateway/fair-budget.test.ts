import { Budget, type Reservation } from '../../../services/gateway/src/body/fair-budget.ts';
import { array, assert, nat, property, tuple } from 'fast-check';
import { expect, it } from 'vitest';

const openBudget = (bytesMax = 90, waitingMax = 100): Budget => new Budget({ bytesMax, waitingMax });

/** Reservations of one integration that want so many bytes each. */
function reserveAll(budget: Budget, integration: string, count: number, bytes: number): Reservation[] {
  return Array.from({ length: count }, () => {
    const reservation = budget.open(integration);
    reservation.grow(bytes);
    return reservation;
  });
}

const heldBy = (reservations: readonly Reservation[]): number =>
  reservations.reduce((sum, reservation) => sum + reservation.heldBytes, 0);

it('one integration gets two thirds of the byte budget, and two integrations get two fifths each', () => {
  const budget = openBudget();
  const first = reserveAll(budget, 'first', 100, 1);
  expect(heldBy(first)).toBe(60);
  const second = reserveAll(budget, 'second', 100, 1);
  expect(heldBy(second)).toBe(20);
  // The bytes that the first one gives back go to the one that has less.
  for (const reservation of first.filter(({ heldBytes }) => heldBytes > 0).slice(0, 24))
    reservation.release();
  expect([heldBy(first), heldBy(second)]).toEqual([36, 36]);
});

it('an integration without reserved bytes finds free bytes, however many bytes other integrations request', () => {
  const budget = openBudget(1_000, 2_000);
  const greedy = Array.from({ length: 20 }, (_, at) => reserveAll(budget, `greedy-${at}`, 1_000, 1));
  // The integrations that began early hold most, and their reservations end.
  for (let round = 0; round < 1_000; round += 1) {
    const most = greedy.toSorted((one, other) => heldBy(other) - heldBy(one))[0] ?? [];
    most.find(({ heldBytes }) => heldBytes > 0)?.release();
  }
  const newcomer = budget.open('newcomer');
  expect(newcomer.grow(10)).toBe('granted');
  expect(budget.waitingCount).toBeGreaterThan(10_000);
  expect(budget.heldBytes).toBeLessThanOrEqual(1_000);
});

it('reservations of one integration get bytes in the order in which they came, and integrations take turns', () => {
  const budget = openBudget(30);
  const order: string[] = [];
  const [everything] = reserveAll(budget, 'other', 1, 30);
  const waiting = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'b3'].map((name) => {
    const reservation = budget.open(name.slice(0, 1));
    reservation.onGranted = () => order.push(name);
    expect(reservation.grow(5)).toBe('waits');
    return reservation;
  });
  everything?.release();
  expect(order).toEqual(['a1', 'b1', 'a2', 'b2']);
  for (const reservation of waiting) reservation.release();
  expect(order).toEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'b3', 'a4']);
});

it('small reservations do not overtake the only large reservation of an integration for ever', () => {
  const budget = openBudget(90);
  const small = ['a', 'b', 'c', 'd', 'e'].flatMap((name) => reserveAll(budget, name, 40, 1));
  const large = budget.open('large');
  expect(large.grow(50)).toBe('waits');
  // Until the large one fits, the bytes that small ones release go to no other that waits.
  const tooManyBytes = budget.heldBytes - 40;
  for (let released = 0; released < tooManyBytes; released += 1) {
    expect(large.heldBytes).toBe(0);
    small.find(({ heldBytes }) => heldBytes > 0)?.release();
  }
  expect(large.heldBytes).toBe(50);
  expect(budget.heldBytes).toBeLessThanOrEqual(90);
});

it('a reservation that is larger than the whole budget is granted when no other reservation exists', () => {
  const budget = openBudget(10);
  const small = budget.open('a');
  expect(small.grow(1)).toBe('granted');
  const large = budget.open('b');
  expect(large.grow(50)).toBe('waits');
  small.release();
  expect(large.heldBytes).toBe(50);
});

it('the byte budget refuses a reservation only of the integration with the most waiting reservations', () => {
  const budget = openBudget(90, 2);
  reserveAll(budget, 'a', 3, 20);
  expect([1, 2, 3].map(() => budget.open('a').grow(20))).toEqual(['waits', 'waits', 'refused']);
  expect(budget.waitingCount).toBe(2);
  expect(budget.open('b').grow(20)).toBe('granted');
});

it('a reservation that is released while it waits gets no bytes, and the next reservation keeps its turn', () => {
  const budget = openBudget(90);
  reserveAll(budget, 'a', 3, 20);
  const large = budget.open('a');
  expect(large.grow(20)).toBe('waits');
  const small = budget.open('a');
  expect(small.grow(0.5)).toBe('waits');
  large.release();
  large.release();
  expect({ large: large.heldBytes, small: small.heldBytes, waiting: budget.waitingCount }).toEqual({
    large: 0,
    small: 0,
    waiting: 1,
  });
  expect(large.grow(1)).toBe('refused');
});

it('the budget reports the bytes of the waiting integration that holds the fewest bytes', () => {
  const budget = openBudget(90);
  expect(budget.leastWaitingBytes).toBe(Infinity);
  reserveAll(budget, 'a', 4, 20);
  expect(budget.leastWaitingBytes).toBe(60);
  reserveAll(budget, 'b', 2, 12);
  expect(budget.leastWaitingBytes).toBe(12);
});

// After any order of opening, growing, shrinking and releasing: no more bytes are held than the budget has, except by a
// reservation that is alone; no reservation waits while none holds anything; and at the end no share is left.
it('the byte budget is never exceeded, in any order of reservations and releases', () => {
  const step = tuple(nat(3), nat(40), nat(3));
  assert(
    property(array(step, { maxLength: 200 }), (steps) => {
      const budget = openBudget(90);
      const reservations: Reservation[] = [];
      for (const [who, bytes, what] of steps) {
        const reservation = reservations[bytes % Math.max(1, reservations.length)];
        if (what <= 1 || reservation === undefined) {
          const opened = budget.open(`integration-${who}`);
          opened.grow(bytes);
          reservations.push(opened);
        } else if (what === 2) {
          reservation.release();
        } else if (reservation.wantedBytes === 0) {
          reservation.shrink(bytes);
        }
        const holding = reservations.filter(({ heldBytes }) => heldBytes > 0);
        expect(budget.heldBytes).toBe(heldBy(holding));
        expect(budget.heldBytes <= 90 || holding.length === 1).toBe(true);
        expect(budget.waitingCount === 0 || holding.length > 0).toBe(true);
      }
      for (const reservation of reservations) reservation.release();
      expect([budget.heldBytes, budget.waitingCount, budget.shareCount]).toEqual([0, 0, 0]);
    }),
  );
});
