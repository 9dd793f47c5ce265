import { parseInstant } from '@integration-sync/contracts';
import { describe, expect, it } from 'vitest';

describe('a point in time', () => {
  it.each([
    ['2026-03-31', '2026-03-31T00:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['2026-03-31T09:26:53Z', '2026-03-31T09:26:53.000Z'],
    ['2026-03-31t09:26:53z', '2026-03-31T09:26:53.000Z'],
    ['2026-03-31T09:26:53.589Z', '2026-03-31T09:26:53.589Z'],
    ['2026-03-31T09:26:53.589999Z', '2026-03-31T09:26:53.589Z'],
    ['2026-03-31T09:26:53+02:00', '2026-03-31T07:26:53.000Z'],
    ['2026-03-31T00:00:00+14:00', '2026-03-30T10:00:00.000Z'],
  ])('%s is read as %s', (text, instant) => {
    expect(parseInstant(text)?.toISOString()).toBe(instant);
  });

  it.each([
    ['', 'empty'],
    ['2024-02-30', 'a day that February never has'],
    ['2023-02-29', 'a leap day in a common year'],
    ['2026-13-01', 'a thirteenth month'],
    ['2026-00-10', 'month zero'],
    ['2026-03-31T24:00:00Z', 'hour 24'],
    ['2026-03-31T09:60:00Z', 'minute 60'],
    ['2026-03-31T09:26:60Z', 'second 60'],
    ['2026-03-31T09:26:53', 'no offset'],
    ['2026-03-31T09:26Z', 'no seconds'],
    ['2026-03-31 09:26:53Z', 'a space for the T'],
    ['2026-03-31T09:26:53+25:00', 'an offset of more than a day'],
    ['2026-02-30T09:26:53Z', 'an impossible day with a good clock'],
    ['1774949213', 'Unix seconds'],
    ['31.03.2026', 'another order'],
    [' 2026-03-31', 'a leading space'],
    ['2026-03-31\n', 'a trailing line break'],
    ['٢٠٢٦-٠٣-٣١', 'other digits'],
  ])('%j is invalid: %s', (text) => {
    expect(parseInstant(text)).toBeUndefined();
  });
});
