import { nearestTo, routes, unknownAmong, unknownKeys, unknownParameters } from '@integration-sync/contracts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const names = fc.stringMatching(/^[a-d]{0,6}$/);

/** By all ways to go, in the plainest code. */
function distance(one: string, other: string): number {
  if (one === '' || other === '') return one.length + other.length;
  const [first, second] = [one.slice(1), other.slice(1)];
  if (one[0] === other[0]) return distance(first, second);
  const swapped =
    one[0] === other[1] && one[1] === other[0] ? distance(one.slice(2), other.slice(2)) : Infinity;
  return 1 + Math.min(distance(first, other), distance(one, second), distance(first, second), swapped);
}

describe('the nearest known name', () => {
  it('is the first name with the smallest edit distance', () => {
    fc.assert(
      fc.property(names, fc.array(names, { maxLength: 6 }), (name, known) => {
        const distances = known.map((one) => distance(name, one));
        expect(nearestTo(name, known)).toBe(known[distances.indexOf(Math.min(...distances))]);
      }),
      { numRuns: 300 },
    );
  });

  it('counts a swap of two characters as one edit, and ignores case', () => {
    // Of two replaced characters the first name would be as near.
    expect(nearestTo('cuontry', ['cuontries', 'country'])).toBe('country');
    expect(nearestTo('EXTERNALID', ['email', 'externalId'])).toBe('externalId');
    expect(nearestTo('iseuorigin', ['iseuorig', 'isEuOrigin'])).toBe('isEuOrigin');
    expect(nearestTo('x', [])).toBeUndefined();
  });

  it('of a name of a million characters is found by its first characters', () => {
    expect(nearestTo('country'.padEnd(100_000, 'x'), ['name', 'country'])).toBe('country');
    const [long, short] = ['z'.repeat(200), 'k'.repeat(40)];
    expect(nearestTo(short + long, [long, short])).toBe(short);
  });
});

describe('unknown names', () => {
  it('are reported, ten at most', () => {
    const keys = Array.from({ length: 10_000 }, (_, index) => `k${index}`);
    expect(unknownAmong(keys, new Set(['k0', 'k3']))).toEqual([
      'k1',
      'k2',
      'k4',
      'k5',
      'k6',
      'k7',
      'k8',
      'k9',
      'k10',
      'k11',
    ]);
  });

  it('of a body have JSON pointers (RFC 6901), cut and without lone surrogates', () => {
    const body = JSON.parse('{"a/b~c":1,"__proto__":2,"\\ud800":3,"name":4}');
    expect(unknownKeys(body, new Set(['name'])).map(({ pointer }) => pointer)).toEqual([
      '/a~1b~0c',
      '/__proto__',
      '/\ufffd',
    ]);
    const [long] = unknownKeys({ ['x'.repeat(100_000)]: 1 }, new Set(['name']));
    expect(long?.pointer).toBe(`/${'x'.repeat(100)}`);
    expect(long?.detail.length).toBeLessThan(120);
  });

  it('of a query are reported once, however often they occur', () => {
    expect(unknownParameters(['limt', 'page', 'limt'], new Set(['page', 'limit']))).toEqual([
      { pointer: 'limt', detail: 'unknown parameter "limt": the nearest known one is "limit"' },
    ]);
    expect(unknownParameters(['x'], new Set())).toEqual([
      { pointer: 'x', detail: 'unknown parameter "x": none is known here' },
    ]);
  });

  it('of a query are cut, and have no lone surrogates', () => {
    const [long, lone] = unknownParameters(['x'.repeat(16_000), '\ud800'], new Set(['page']));
    expect(long?.pointer).toBe('x'.repeat(100));
    expect(lone?.pointer).toBe('\ufffd');
  });
});

it('the nearest name to a parameter of a route with an added s is the parameter', () => {
  for (const { query = [] } of routes) {
    const known = query.map(({ name }) => name);
    for (const name of known) expect(nearestTo(`${name}s`, known)).toBe(name);
  }
});
