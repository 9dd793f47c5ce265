import { setImmediate } from 'node:timers/promises';
import type { PushOutcome } from '@integration-sync/client';
import { assert, asyncProperty, constantFrom, integer, nat } from 'fast-check';
import { expect, it } from 'vitest';
import { PushQueue } from '../../../loader/src/core/sending/push-queue.ts';
import { itemsMax, Slots, type Slot } from '../../../loader/src/core/sending/slots.ts';
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

interface Flight {
  slots: readonly Slot[];
  answer: (error?: Error) => void;
}

const fixedLanes = (count: number) => ({ count, answered: () => undefined, refused: () => undefined });

/** A queue whose pushes are answered when a test says so. */
function openQueue(inFlightMax: number) {
  const flights: Flight[] = [];
  const sent: Slot[][] = [];
  const queue = new PushQueue({
    lanes: fixedLanes(inFlightMax),
    async send(slots) {
      sent.push([...slots]);
      await new Promise<void>((settle, fail) => {
        flights.push({ slots, answer: (error) => (error === undefined ? settle() : fail(error)) });
      });
      return nothing;
    },
    answered: () => undefined,
  });
  const answer = async (nth: number): Promise<void> => {
    flights.splice(nth % flights.length, 1)[0]?.answer();
    await setImmediate();
  };
  return { queue, flights, sent, answer };
}

/** Xorshift. */
function randomOf(seed: number): () => number {
  let state = seed + 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}

const idsOf = (slots: readonly Slot[]): Set<string> => new Set(slots.map(({ id }) => id));

it('no row is sent before the answer to an earlier row of the same id', async () => {
  const ids = constantFrom(1, 3, 400, 1_000, 6_000, 1_000_000);
  const property = asyncProperty(
    ids,
    integer({ min: 1, max: 8 }),
    integer({ min: 1, max: 9_000 }),
    nat(),
    async (idsMax, inFlightMax, rows, seed) => {
      const next = randomOf(seed);
      const { queue, flights, sent, answer } = openQueue(inFlightMax);
      const check = (): void => {
        const inFlight = flights.flatMap(({ slots }) => [...idsOf(slots)]);
        expect(new Set(inFlight).size).toBe(inFlight.length);
        expect(flights.length).toBeLessThanOrEqual(inFlightMax);
      };
      for (let row = 0; row < rows; row += 1) {
        queue.add(slot(row, `id-${next() % idsMax}`));
        while (flights.length > 0 && (queue.isFull || next() % 700 === 0)) {
          check();
          await answer(next());
        }
      }
      const drained = queue.drain();
      while (flights.length > 0) {
        check();
        await answer(next());
      }
      await drained;
      expect(sent.flat()).toHaveLength(rows);
      for (const all of Map.groupBy(sent.flat(), ({ id }) => id).values()) {
        const inOrder = all.map(({ row }) => row);
        expect(inOrder).toEqual(inOrder.toSorted((one, other) => one - other));
      }
    },
  );
  await assert(property, { numRuns: 60 });
});

it('rows are sent in order, with the allowed number of concurrent pushes where few ids repeat', async () => {
  const { queue, flights, sent, answer } = openQueue(8);
  let row = 0;
  const fill = (): void => {
    // Each id has three rows that follow each other, and so some of them meet the end of a push.
    for (; !queue.isFull; row += 1) queue.add(slot(row, `id-${Math.floor(row / 3)}`));
  };
  for (let turn = 0; turn < 100; turn += 1) {
    fill();
    expect(flights).toHaveLength(8);
    await answer(0);
  }
  for (const slots of sent) {
    expect(slots).toHaveLength(500);
    const rows = slots.map((one) => one.row).toSorted((one, other) => one - other);
    expect(rows.filter((one, at) => one !== (rows[at - 1] ?? one) + 1).length).toBeLessThan(6);
  }
});

it('rows without an id do not wait for answers', () => {
  const { queue, flights } = openQueue(8);
  for (let row = 0; row < 4_000; row += 1) queue.add(slot(row, ''));
  expect(flights).toHaveLength(8);
});

it('the queue throws the error of a push, and starts no other push', async () => {
  const { queue, flights, sent } = openQueue(2);
  for (let row = 0; row < 5_000; row += 1) queue.add(slot(row, `id-${row}`));
  const drained = queue.drain();
  for (const { answer } of flights) answer(new Error('refused'));
  await expect(drained).rejects.toThrow('refused');
  await queue.stop();
  expect(sent).toHaveLength(2);
});

it('rows leave the queue in the order of the file, in whatever order answers come', () => {
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

/** Sends full pushes, and then a small one, each of which takes as long as `send` does. */
async function pushAll(pushes: number, send: (nth: number, repeated: () => void) => Promise<void>) {
  const said: (number | string)[] = [];
  let sent = 0;
  const queue = new PushQueue({
    lanes: {
      count: 1,
      answered: (tookMs, isBusy) => void said.push(isBusy ? tookMs : 'not busy'),
      refused: (sentAt, now) => void said.push(`refused after ${now - sentAt}`),
    },
    async send(_slots, repeated) {
      sent += 1;
      await send(sent, repeated);
      return nothing;
    },
    answered: () => undefined,
  });
  for (let row = 0; row <= pushes * itemsMax; row += 1) queue.add(slot(row, ''));
  await queue.drain();
  return said;
}

it('the queue reports how long full pushes took, and for a repeated push only how long its refusals took', async () => {
  const said = await pushAll(3, async (nth, repeated) => {
    await pause(70);
    if (nth !== 2) return;
    repeated();
    await pause(900);
    repeated();
    await pause(70);
  });
  expect(said).toEqual([70, 'refused after 70', 'refused after 900', 70]);
});
