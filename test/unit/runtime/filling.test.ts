import { fillingsOf, fillsSoon } from '@integration-sync/runtime/filling';
import { describe, expect, it } from 'vitest';

const level = (stream: string, bytes: number, bytesMax: number, bytesPerDay: number, copies = 1) => ({
  stream,
  bytes,
  bytesMax,
  bytesPerDay,
  copies,
});
const soon = (daysLeft: number): boolean => fillsSoon({ stream: 'EVENTS', daysLeft, limit: '' });

const none = { bytes: 0, bytesMax: Infinity };

describe('the time until a stream is full', () => {
  it.each([
    ['grows', 60, 100, 20, 2],
    ['is full', 100, 100, 20, 0],
    ['is full and shrinks', 101, 100, -5, 0],
    ['does not grow', 60, 100, 0, Infinity],
    ['shrinks', 60, 100, -5, Infinity],
    ['has no limit', 60, Infinity, 20, Infinity],
  ])('is computed for a stream that %s', (_, bytes, bytesMax, perDay, days) => {
    const fillings = fillingsOf({ streams: [level('EVENTS', bytes, bytesMax, perDay)], account: none });
    expect(fillings).toEqual([{ stream: 'EVENTS', daysLeft: days, limit: 'EVENTS_MAX_BYTES' }]);
  });

  it('is that of the first reached limit; an account counts each copy of a stream, and a server only its own copy', () => {
    const streams = [level('EVENTS', 10, 1_000, 10, 3), level('EVENT_BATCHES', 10, Infinity, 5, 3)];
    const account = { bytes: 60, bytesMax: 240 };
    const of = (server?: { bytes: number; bytesMax: number }) =>
      fillingsOf({ streams, account }, server).map(({ daysLeft, limit }) => [daysLeft, limit]);
    expect(of()).toEqual([
      [4, '`max_file` of the NATS account'],
      [4, '`max_file` of the NATS account'],
    ]);
    expect(of({ bytes: 20, bytesMax: 50 })).toEqual([
      [2, '`max_file_store` of nats-server'],
      [2, '`max_file_store` of nats-server'],
    ]);
  });

  it('is reported below two days', () => {
    expect([0, 1.99, 2, Infinity, Number.NaN].map(soon)).toEqual([true, true, false, false, false]);
  });
});
