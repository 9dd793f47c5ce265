import { repeatedKeys } from '@integration-sync/runtime/json-keys';
import { expect, it } from 'vitest';

it.each([
  ['{}', []],
  ['{"a":1,"b":{"a":2},"c":[{"a":1},{"a":2}]}', []],
  ['{"a":1,"b":2,"a":3}', ['/a']],
  ['{"a":1,"\\u0061":2}', ['/a']],
  ['{"x":{"a":1,"a":1,"a":1}}', ['/x/a']],
  ['[0,[{"b":1}],{"b":1,"b":2}]', ['/2/b']],
  ['{"a":"\\"a\\":1,\\"a\\":{","b":1}', []],
  ['{"a/b":1,"a~":2,"a/b":3,"a~":4}', ['/a~1b', '/a~0']],
  ['{"__proto__":1,"__proto__":2}', ['/__proto__']],
  [`{"${'k'.repeat(200)}":1,"${'k'.repeat(200)}":1}`, [`/${'k'.repeat(100)}`]],
])('%s has the duplicate keys %j', (text, pointers) => {
  expect(repeatedKeys(text)).toEqual(pointers);
});

it('duplicate keys are found in linear time in a text of escapes and brackets', () => {
  const began = performance.now();
  repeatedKeys(`{"a":"${'\\\\'.repeat(1_000_000)}","b":[${'[],'.repeat(500_000)}0]}`);
  expect(performance.now() - began).toBeLessThan(5_000);
});
