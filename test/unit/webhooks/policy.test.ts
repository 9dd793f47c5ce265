import { describe, expect, it, test } from 'vitest';
import { decideNext, delayAfter, type Attempt } from '../../../services/webhooks/src/delivering/policy.ts';

const failed = (number: number, failures: number, more: Partial<Attempt> = {}): Attempt => ({
  number,
  verdict: 'failed',
  counts: true,
  failures,
  ...more,
});

describe('the table', () => {
  it.each([
    ['a first failure', failed(1, 0), 'again', 1_000, 1, 'open', undefined],
    ['a second failure', failed(2, 1), 'again', 5_000, 2, 'open', undefined],
    ['a third failure', failed(3, 2), 'again', 30_000, 3, 'open', undefined],
    ['a fourth failure', failed(4, 3), 'given up', 0, 4, 'open', undefined],
    ['the ninth in a row', failed(1, 8), 'again', 1_000, 9, 'open', undefined],
    ['the tenth in a row', failed(2, 9), 'missed', 0, 10, 'open', 'failures'],
    ['the tenth in a row, an event’s fourth', failed(4, 9), 'given up', 0, 10, 'open', 'failures'],
    ['410', failed(1, 0, { verdict: 'gone' }), 'missed', 0, 1, 'open', 'gone'],
    [
      '410 that does not count',
      failed(1, 5, { verdict: 'gone', counts: false }),
      'missed',
      0,
      5,
      'open',
      'gone',
    ],
    ['410 as an event’s fourth', failed(4, 3, { verdict: 'gone' }), 'given up', 0, 4, 'open', 'gone'],
    [
      'a failure that does not count',
      failed(1, 1, { counts: false }),
      'again',
      1_000,
      1,
      'unchanged',
      undefined,
    ],
    [
      'a fourth that does not count',
      failed(4, 3, { counts: false }),
      'given up',
      0,
      3,
      'unchanged',
      undefined,
    ],
    [
      'one that would be the tenth',
      failed(2, 9, { counts: false }),
      'again',
      5_000,
      9,
      'unchanged',
      undefined,
    ],
  ] as const)('%s', (_name, attempt, event, delayMs, failures, circuit, disable) => {
    expect(decideNext(attempt)).toEqual({ event, failures, circuit, disable });
    expect(event === 'again' ? delayAfter(attempt.number, 0) : 0).toBe(delayMs);
  });
});

test('an endpoint that is dead from the start is hit at 0, 1, 6, 36, 36, 37, 42, 72, 72 and 73 s', () => {
  const hits: number[] = [];
  let atMs = 0;
  let failures = 0;
  for (let number = 1, disabled = false; !disabled;) {
    hits.push(atMs / 1_000);
    const next = decideNext(failed(number, failures));
    failures = next.failures;
    disabled = next.disable !== undefined;
    if (next.event === 'again') atMs += delayAfter(number, 0);
    number = next.event === 'again' ? number + 1 : 1;
  }
  expect(hits).toEqual([0, 1, 6, 36, 36, 37, 42, 72, 72, 73]);
});

it('Retry-After lengthens the wait for the next attempt, and never shortens it', () => {
  expect([delayAfter(1, 60_000), delayAfter(3, 2_000)]).toEqual([60_000, 30_000]);
});
