import type { Failure } from '@integration-sync/contracts';
import { openSealer } from '@integration-sync/runtime/seal';
import { expect, it } from 'vitest';
import { openWaiters } from '../../../services/webhooks/src/feed/feed.ts';
import { beginningOf } from '../../../services/webhooks/src/feed/beginning.ts';
import { openPlaces } from '../../../services/webhooks/src/feed/place.ts';
const secretKeyOf = (id: string, fill: number): string =>
  `${id}:${Buffer.alloc(32, fill).toString('base64')}`;

const [older, newer] = [secretKeyOf('older', 1), secretKeyOf('newer', 2)];
const place = { stream: '2026-01-01T00:00:00.000Z', sequence: 4_711, index: 3, sinceMs: null };
const placesOf = (keys: string) => openPlaces(keys, () => true);

it.each([
  place,
  { ...place, sequence: 2 ** 53 - 1, index: 499, sinceMs: Date.parse('2026-01-01T00:00:00.001Z') },
  { ...place, sequence: 0, index: 0, sinceMs: 0 },
  { ...place, stream: `${place.stream}#2`, newest: { sequence: 4_712, storedAt: new Date(1) } },
])('a cursor of the feed opens for its integration alone: %j', (one) => {
  const places = placesOf(older);
  const text = places.seal('acme', one);
  expect(places.open('acme', text)).toEqual(one);
  expect(places.open('other', text)).toBeUndefined();
  for (const altered of [`${text}x`, `${text}=`, text.slice(1), text.slice(0, -4), `${text} `, ''])
    expect(places.open('acme', altered)).toBeUndefined();
  for (let at = 0; at < text.length; at += 1)
    expect(
      places.open('acme', text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1)),
    ).toBeUndefined();
});

it('cursors of the feed open with each key, and are sealed with the first', () => {
  const text = placesOf(older).seal('acme', place);
  expect(placesOf(`${newer},${older}`).open('acme', text)).toEqual(place);
  expect(placesOf(newer).open('acme', text)).toBeUndefined();
  const sealed = placesOf(`${newer},${older}`).seal('acme', place);
  expect(placesOf(newer).open('acme', sealed)).toEqual(place);
});

/** How many bits differ in two places. */
function distance(one: string, other: string): number {
  const [first, second] = [Buffer.from(one, 'base64url'), Buffer.from(other, 'base64url')];
  return first.reduce((sum, byte, at) => {
    const differing = byte ^ (second[at] ?? 0);
    return sum + differing.toString(2).replaceAll('0', '').length;
  }, 0);
}

it('two cursors of the feed reveal nothing by length, bytes, order or equality', () => {
  const places = placesOf(older);
  const texts = Array.from({ length: 400 }, (_, n) =>
    places.seal('acme', {
      ...place,
      // Half of them are one place; the others are far and near.
      sequence: n < 200 ? 1 : 10 ** Math.floor(n / 25) + n,
      sinceMs: n % 3 === 0 ? n : null,
    }),
  );
  expect(new Set(texts.map(({ length }) => length)).size).toBe(1);
  expect(new Set(texts).size).toBe(texts.length);
  // No byte is the same in all, and of the bits of any two places about half differ.
  const bits = Buffer.from(texts[0] ?? '', 'base64url').length * 8;
  for (let at = 0; at < bits / 8; at += 1)
    expect(new Set(texts.map((text) => Buffer.from(text, 'base64url')[at])).size).toBeGreaterThan(100);
  const distances = texts.slice(1).map((text, n) => distance(texts[n] ?? '', text) / bits);
  expect(Math.min(...distances)).toBeGreaterThan(0.35);
  expect(Math.max(...distances)).toBeLessThan(0.65);
  const sorted = texts.slice(200).filter((text, n, all) => n > 0 && text > (all[n - 1] ?? ''));
  expect(sorted.length).toBeGreaterThan(60);
  expect(sorted.length).toBeLessThan(140);
});

it('cursors of release 1.1.0 open, and are issued while a replica of that release lives', () => {
  // As release 1.1.0 sealed it.
  const key = Buffer.alloc(32, 1).toString('base64');
  const former = openSealer(`feed ${key}`).seal('acme', ['2026-01-01T00:00:00.000Z', 4_711, 3, null]);
  expect(placesOf(older).open('acme', former)).toEqual(place);
  expect(placesOf(older).open('other', former)).toBeUndefined();
  expect(openPlaces(older, () => false).seal('acme', place)).toBe(former);
});

it.each([
  { end: 98, newest: 100, hasNewest: true, isKept: true },
  { end: 98, newest: 100, hasNewest: false, isKept: false },
  { end: 98, newest: 95, hasNewest: true, isKept: false },
  { end: 98, isKept: false },
  { end: 100, isKept: true },
  { end: 120, newest: 100, hasNewest: true, isKept: true },
  { end: 120, newest: 100, hasNewest: false, isKept: false },
])(
  'a cursor after sequence 100 is refused if the log has lost its events, unless a new leader of the stream lags: %j',
  async ({ end, newest, hasNewest = false, isKept }) => {
    const { stream: id } = place;
    const after = { ...place, sequence: 101, index: 0 };
    const stored = newest === undefined ? {} : { newest: { sequence: newest, storedAt: new Date(1) } };
    const parts = { bus: { async *readStream() {} }, stream: { has: async () => hasNewest } };
    const facts = { id, createdAt: id, firstSequence: 1, lastSequence: end };
    const asked = { after: { ...after, ...stored }, since: undefined };
    const answer = await beginningOf(parts, 'acme', asked, facts).catch(({ code }: Failure) => code);
    expect(answer).toEqual(isKept ? asked.after : 'conflict');
  },
);

it('waiting feed calls are bounded, in all and for each integration', () => {
  const waiters = openWaiters(3, 2);
  const first = waiters.enter('acme');
  waiters.enter('acme');
  expect(() => waiters.enter('acme')).toThrow('2 callers of your integration');
  waiters.enter('other');
  expect(() => waiters.enter('third')).toThrow('Too many callers');
  expect(waiters.count).toBe(3);
  first[Symbol.dispose]();
  waiters.enter('acme');
  expect(waiters.count).toBe(3);
});
