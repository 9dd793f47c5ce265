import { describe, expect, it } from 'vitest';
import {
  listAttempts,
  nextSince,
  openCursor,
  sealCursor,
  type Start,
} from '../../../services/webhooks/src/api/attempt-listing.ts';
import type { LoggedAttempt } from '../../../services/webhooks/src/delivering/attempt-log.ts';

const entry = (ordinal: number, more: Partial<LoggedAttempt> = {}): LoggedAttempt => ({
  ordinal,
  eventId: `e${ordinal}`,
  event: 'supplier.created',
  attempt: 1,
  at: new Date(ordinal * 1_000).toISOString(),
  outcome: 'succeeded',
  responseStatus: 204,
  durationMs: 1,
  error: null,
  nextAttemptAt: null,
  ...more,
});

const newestFirst = [5, 4, 3, 2, 1].map((ordinal) =>
  entry(ordinal, ordinal % 2 === 0 ? { outcome: 'failed', event: 'sync.completed' } : {}),
);
const start = { before: undefined, page: 1, limit: 2, sinceMs: null, outcome: null, event: null };
const ids = (listed: { entities: { eventId: string }[] }): string[] =>
  listed.entities.map(({ eventId }) => eventId);

describe('the attempt log', () => {
  it('is listed by page', () => {
    expect(listAttempts(newestFirst, start)).toMatchObject({ total: 5, next: { before: 4, page: 2 } });
    expect(ids(listAttempts(newestFirst, { ...start, page: 3 }))).toEqual(['e1']);
    expect(listAttempts(newestFirst, { ...start, page: 3 }).next).toBeUndefined();
    expect(listAttempts(newestFirst, { ...start, page: 4 })).toMatchObject({ entities: [], total: 5 });
  });

  it('continues at a cursor, although newer entries came', () => {
    const { next } = listAttempts(newestFirst, start);
    const grown = [entry(7), entry(6), ...newestFirst];
    const second = listAttempts(grown, next ?? start);
    expect(ids(second)).toEqual(['e3', 'e2']);
    expect(ids(listAttempts(grown, second.next ?? start))).toEqual(['e1']);
  });

  it('is filtered by outcome, event and time', () => {
    expect(ids(listAttempts(newestFirst, { ...start, outcome: 'failed' }))).toEqual(['e4', 'e2']);
    expect(ids(listAttempts(newestFirst, { ...start, event: 'sync.completed', limit: 1 }))).toEqual(['e4']);
    expect(ids(listAttempts(newestFirst, { ...start, sinceMs: 4_000 }))).toEqual(['e5']);
  });

  it('does not show sequences of the stream', () => {
    expect(listAttempts(newestFirst, start).entities[0]).not.toHaveProperty('ordinal');
  });
});

describe('the value of since for the next poll', () => {
  it('is the time of the newest entry once no older entry can follow', () => {
    expect(nextSince(newestFirst, null, 60_000).getTime()).toBe(5_000);
  });
  it('stays before attempts that may still be logged', () => {
    expect(nextSince(newestFirst, null, 16_000).getTime()).toBe(4_000);
    expect(nextSince([], null, 60_000).getTime()).toBe(48_000);
  });
  it('is never earlier than the given since', () => {
    expect(nextSince(newestFirst, 30_000, 60_000).getTime()).toBe(30_000);
  });
});

describe('a cursor of the attempt log', () => {
  const cursor: Start = { before: 4, page: 2, limit: 2, sinceMs: 1_000, outcome: 'failed', event: null };
  const sealed = sealCursor('key', 'wh_1', cursor);

  it('opens to the content that was sealed', () => {
    expect(openCursor('key', 'wh_1', sealed)).toEqual(cursor);
  });
  it.each([
    ['of another endpoint', 'wh_2', sealed],
    ['that was changed', 'wh_1', `${sealed.slice(0, -1)}${sealed.endsWith('A') ? 'B' : 'A'}`],
    ['with something after it', 'wh_1', `${sealed}=`],
    ['of other text', 'wh_1', 'abc'],
    ['that is empty', 'wh_1', ''],
  ])('%s is refused', (_name, endpointId, text) => {
    expect(openCursor('key', endpointId, text)).toBeUndefined();
  });
});
