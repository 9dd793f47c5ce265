// When a disabled webhook is tested that is to recover.
import { expect, it } from 'vitest';
import { nextTestAt } from '../../../services/webhooks/src/endpoints/recovery.ts';

it('a webhook with recover: true is tested after 5, 15 and 60 minutes, then hourly for 7 days', () => {
  const disabledAt = new Date('2026-03-31T21:00:00Z');
  const minutes: number[] = [];
  for (let at = nextTestAt(disabledAt, disabledAt); at !== undefined; at = nextTestAt(disabledAt, at))
    minutes.push((at.getTime() - disabledAt.getTime()) / 60_000);
  expect(minutes.slice(0, 6)).toEqual([5, 15, 60, 120, 180, 240]);
  expect([minutes.length, minutes.at(-1)]).toEqual([170, 7 * 24 * 60]);
});

it('several missed recovery tests of a webhook are replaced by one test', () => {
  const disabledAt = new Date(0);
  expect(nextTestAt(disabledAt, new Date(10.5 * 3_600_000))).toEqual(new Date(11 * 3_600_000));
});
