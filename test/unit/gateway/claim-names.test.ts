import { describe, expect, it } from 'vitest';
import { claimReader, isClaimName } from '../../../services/gateway/src/tokens/token-claims.ts';

const claims = {
  scope: 'a b',
  'https://example.com/tenant': 'acme',
  'a/b': 'slash',
  'm~n': 'tilde',
  '': { '': 'nothing' },
  resource_access: { sync: { roles: ['read', 'write'] }, 'sync/two': { roles: ['erase'] } },
  text: 'abc',
  nothing: null,
};
const read = (name: string): unknown => claimReader(name)(claims);

describe('a name that begins with no slash', () => {
  it.each<[string, unknown]>([
    ['scope', 'a b'],
    ['https://example.com/tenant', 'acme'],
    ['a/b', 'slash'],
    ['m~n', 'tilde'],
    ['nothing', null],
    ['absent', undefined],
    ['resource_access/sync/roles', undefined],
    ['resource_access.sync.roles', undefined],
  ])('%s is taken literally', (name, value) => {
    expect(read(name)).toEqual(value);
  });
});

describe('a claim name that begins with a slash', () => {
  it.each<[string, unknown]>([
    ['/scope', 'a b'],
    ['/resource_access/sync/roles', ['read', 'write']],
    ['/resource_access/sync/roles/1', 'write'],
    ['/resource_access/sync~1two/roles', ['erase']],
    ['/a~1b', 'slash'],
    ['/m~0n', 'tilde'],
    ['//', 'nothing'],
    ['/absent/sync', undefined],
    ['/text/0', undefined],
    ['/text/length', undefined],
    ['/nothing/x', undefined],
    ['/resource_access/sync/roles/2', undefined],
    ['/resource_access/sync/roles/01', undefined],
    ['/resource_access/sync/roles/-', undefined],
    ['/resource_access/sync/roles/length', undefined],
  ])('%s is a JSON pointer', (name, value) => {
    expect(read(name)).toEqual(value);
  });

  it('decodes ~01 to ~1, as a JSON pointer does, and not to a slash', () => {
    expect(claimReader('/a~01b')({ 'a~1b': 'right', 'a/b': 'wrong' })).toBe('right');
  });
});

it.each(['constructor', '__proto__', 'toString', '/constructor/name', '/resource_access/__proto__', '/a/at'])(
  'the property %s of a prototype is no claim',
  (name) => {
    expect(claimReader(name)({ a: ['x'], resource_access: {} })).toBeUndefined();
  },
);

it('an own claim with the name of a prototype property is a claim', () => {
  expect(claimReader('__proto__')(JSON.parse('{"__proto__":"own"}'))).toBe('own');
});

it.each([
  ['scope', true],
  ['https://example.com/tenant', true],
  ['~', true],
  ['/', true],
  ['/a//b', true],
  ['/~0~1', true],
  ['/~', false],
  ['/~2', false],
  ['/a/b~', false],
])('%s may be the name of a claim: %s', (name, good) => {
  expect(isClaimName(name)).toBe(good);
});
