import { expect, it } from 'vitest';
import { Slots, slotOf } from '../../../loader/src/core/sending/slots.ts';

it.each([
  ['many rows', 40_001, 'row'],
  ['rows that are large', 17, 'r'.repeat(1024 * 1024)],
])('a window of pushes is full with %s, until the first of them is released', (_what, count, raw) => {
  const slots = new Slots();
  const all = Array.from({ length: count }, (_, number) => slotOf({ number, made: {}, raw }));
  for (const slot of all.slice(1)) slots.add(slot);
  expect(slots.isFull).toBe(false);
  for (const slot of all.slice(0, 1)) slots.add(slot);
  expect(slots.isFull).toBe(true);
  for (const slot of all.slice(1, 3)) slot.status = 'created';
  const letGo: number[] = [];
  slots.release(({ row }) => letGo.push(row));
  expect([letGo, slots.isFull]).toEqual([[1, 2], false]);
});
