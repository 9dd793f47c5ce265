import { BSON } from 'mongodb';
import { expect, it } from 'vitest';
import { inOneDocument, type StoredOffset } from '../../../services/webhooks/src/log/offsets.ts';

const sequence = 2 ** 52;

/** An offset of the most bytes that an endpoint with this many open events can have. */
const offsetOf = (open: number): StoredOffset => ({
  sequence,
  index: 499,
  epoch: 2 ** 31,
  open: Array.from({ length: open }, (_, index) => ({
    sequence: sequence - index,
    index: 7,
    attempts: 3,
    dueAtMs: 2 ** 42,
    retryAfterMs: 300_000,
  })),
});

it.each([0, 1, 8, 64])(
  'the offsets of 100,000 endpoints that are behind fit into a document, each with %i open events',
  (open) => {
    const offset = offsetOf(open);
    const ids = Array.from({ length: 100_000 }, (_, at) => `wh_${String(at).padStart(32, '0')}`);
    const stored = [...inOneDocument(new Map(ids.map((id) => [id, offset])))];
    expect(stored.map(([id]) => id)).toEqual(ids);
    expect(BSON.calculateObjectSize(Object.fromEntries(stored))).toBeLessThan(15.5 * 2 ** 20);
    expect(stored[0]?.[1]).toBe(offset);
    expect(stored.at(-1)?.[1]).toEqual(
      open === 0 ? offset : { sequence: sequence - open + 1, index: 7, epoch: 2 ** 31, open: [] },
    );
  },
);

it('the offsets of 937 endpoints with 64 open events each are stored unchanged', () => {
  const offsets = new Map(Array.from({ length: 937 }, (_, at) => [String(at), offsetOf(64)]));
  expect(new Map(inOneDocument(offsets))).toEqual(offsets);
});
