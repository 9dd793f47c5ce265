import type { PushOutcome } from '@integration-sync/client';
import { expect, it } from 'vitest';
import { Lanes } from '../../../loader/src/sending/lanes.ts';
import { Slots, type Slot } from '../../../loader/src/sending/slots.ts';
import { pause } from '../../support/pause.ts';

const slot = (row: number, id: string): Slot => ({
  row,
  id,
  raw: row,
  item: {},
  status: undefined,
  internalId: '',
  reason: '',
});
const nothing = {} as PushOutcome;

it('sends the rows of an id one after the other, and other ids beside them', async () => {
  const inFlight = new Set<string>();
  const sentOf = new Map<string, number[]>();
  let most = 0;
  const lanes = new Lanes({
    lanes: 8,
    async send(slots) {
      const ids = new Set(slots.map(({ id }) => id));
      for (const id of ids) {
        expect(inFlight.has(id)).toBe(false);
        inFlight.add(id);
      }
      most = Math.max(most, inFlight.size);
      await pause(10 + ((slots[0]?.row ?? 0) % 50));
      for (const { id, row } of slots) sentOf.set(id, [...(sentOf.get(id) ?? []), row]);
      for (const id of ids) inFlight.delete(id);
      return nothing;
    },
    answered: () => undefined,
  });
  for (let row = 0; row < 20_000; row += 1) lanes.add(slot(row, `id-${row % 100}`));
  await lanes.drain();
  expect(most).toBeGreaterThan(50);
  expect([...sentOf.values()].flat()).toHaveLength(20_000);
  for (const rows of sentOf.values()) expect(rows).toEqual(rows.toSorted((one, other) => one - other));
});

it('throws what a push threw, and starts no more', async () => {
  let sent = 0;
  const lanes = new Lanes({
    lanes: 2,
    async send() {
      sent += 1;
      await pause(10);
      throw new Error('refused');
    },
    answered: () => undefined,
  });
  for (let row = 0; row < 5_000; row += 1) lanes.add(slot(row, `id-${row}`));
  await expect(lanes.drain()).rejects.toThrow('refused');
  await lanes.stop();
  expect(sent).toBe(2);
});

it('lets rows go in the order of the file, whatever order answers come in', () => {
  const slots = new Slots();
  const all = Array.from({ length: 30_000 }, (_, row) => slot(row, ''));
  const released: number[] = [];
  for (const one of all) slots.add(one);
  for (const one of all.toReversed()) {
    one.status = 'created';
    if (one.row % 1_000 === 0) slots.release(({ row }) => released.push(row));
  }
  expect(released).toEqual(all.map(({ row }) => row));
  expect(slots.size).toBe(0);
});
