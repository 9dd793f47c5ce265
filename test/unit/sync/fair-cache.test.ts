// What a replica remembers of walks: bounded in all and for each integration.
import { expect, it } from 'vitest';
import { openFairCache } from '../../../shared/sync/src/listing/fair-cache.ts';

const open = () =>
  openFairCache<{ size: number }>({ max: 10, shareMax: 6, sizeOf: ({ size }) => size, ttlMs: 60_000 });

it('an integration that has used up its share loses its own least recently used entries', () => {
  const cache = open();
  cache.set('other', 'a', { size: 3 });
  for (const key of ['a', 'b', 'c']) cache.set('acme', key, { size: 2 });
  cache.get('acme', 'a');
  cache.set('acme', 'd', { size: 2 });
  expect(['a', 'b', 'c', 'd'].filter((key) => cache.get('acme', key) !== undefined)).toEqual(['a', 'c', 'd']);
  expect(cache.get('other', 'a')).toEqual({ size: 3 });
  expect(cache.held()).toBe(9);
});

it('a full cache evicts entries of the integration with the largest share', () => {
  const cache = open();
  cache.set('large', 'a', { size: 2 });
  cache.set('large', 'b', { size: 4 });
  cache.set('small', 'a', { size: 2 });
  cache.set('new', 'a', { size: 3 });
  expect([cache.get('large', 'a'), cache.get('large', 'b')]).toEqual([undefined, { size: 4 }]);
  expect([cache.get('small', 'a'), cache.get('new', 'a')]).toEqual([{ size: 2 }, { size: 3 }]);
  expect(cache.held()).toBe(9);
});

it('an entry larger than a share is not kept, and no integration sees the entries of another', () => {
  const cache = open();
  cache.set('acme', 'a', { size: 7 });
  cache.set('acme', 'b', { size: 1 });
  expect([cache.get('acme', 'a'), cache.get('other', 'b'), cache.held()]).toEqual([undefined, undefined, 1]);
});
