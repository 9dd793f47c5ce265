import { expect, it } from 'vitest';
import { openWaiters } from '../../../services/webhooks/src/feed/feed.ts';
import { openPlaces } from '../../../services/webhooks/src/feed/place.ts';
const secretKeyOf = (id: string, fill: number): string =>
  `${id}:${Buffer.alloc(32, fill).toString('base64')}`;

const [older, newer] = [secretKeyOf('older', 1), secretKeyOf('newer', 2)];
const place = { stream: '2026-01-01T00:00:00.000Z', sequence: 4_711, index: 3, sinceMs: null };

it('opens the places of an integration, and for no other', () => {
  const places = openPlaces(older);
  const text = places.seal('acme', place);
  expect(places.open('acme', text)).toEqual(place);
  expect(places.open('other', text)).toBeUndefined();
  expect(places.open('acme', `${text}x`)).toBeUndefined();
  expect(places.open('acme', text.slice(1))).toBeUndefined();
});

it('opens with each of its keys, and seals with the first', () => {
  const text = openPlaces(older).seal('acme', place);
  expect(openPlaces(`${newer},${older}`).open('acme', text)).toEqual(place);
  expect(openPlaces(newer).open('acme', text)).toBeUndefined();
  const sealed = openPlaces(`${newer},${older}`).seal('acme', place);
  expect(openPlaces(newer).open('acme', sealed)).toEqual(place);
});

it('seals a place that a former key sealed with the first, and knows each for one integration', () => {
  const places = openPlaces(`${newer},${older}`);
  const former = openPlaces(older).seal('acme', place);
  expect(places.open('acme', former)).toEqual(place);
  const [text, again] = [places.seal('acme', place), places.seal('acme', place)];
  expect(again).toBe(text);
  expect(openPlaces(newer).open('acme', text)).toEqual(place);
  expect([places.open('acme', text), places.open('acme', text)]).toEqual([place, place]);
  expect(places.open('other', text)).toBeUndefined();
  expect(places.seal('other', place)).not.toBe(text);
});

it('bounds those that wait, in all and of an integration, and gives places back', () => {
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
