// What callers ask for in `Accept-Encoding` and `Prefer`.
import { describe, expect, it } from 'vitest';
import { chooseCoding } from '../../../services/gateway/src/body/compression.ts';
import { prefersStrict } from '../../../services/gateway/src/server/request-checks.ts';

describe('Accept-Encoding', () => {
  it.each([
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['x-gzip', 'gzip'],
    ['br', 'br'],
    ['zstd', 'zstd'],
    ['gzip, deflate', 'gzip'],
    ['deflate, gzip, br, zstd', 'zstd'],
    ['gzip;q=0.8, br', 'br'],
    ['gzip;q=1.000 , br;q=0.5', 'gzip'],
    ['zstd;q=0.4, br;q=0.5, gzip;q=0.3', 'br'],
    ['*', 'zstd'],
    ['zstd;q=0, *', 'br'],
    ['*;q=0.5, gzip', 'gzip'],
    ['gzip\t;\tQ=1', 'gzip'],
    ['gzip, identity', 'gzip'],
    ['identity;q=0.5, gzip', 'gzip'],
    ['identity;q=0, gzip;q=0.001', 'gzip'],
    ['gzip, gzip;q=0', 'gzip'],
    ['nonsense;;;, gzip', 'gzip'],
  ])('%s selects a content coding', (accept, coding) => {
    expect(chooseCoding(accept).coding).toBe(coding);
  });

  it.each([
    '',
    ' ',
    ',,,',
    'identity',
    'deflate',
    'gzip;q=0',
    'gzip;q=0.000',
    '*;q=0',
    'identity;q=0',
    'identity, gzip;q=0.5',
    'gzip;q=2',
    'gzip;q=0.1234',
    'gzip;q=',
    'gzip;level=9',
    'gzip br',
    '"gzip"',
    'gzipped',
    ';q=1',
    '\u00e9',
  ])('%j selects no content coding', (accept) => {
    expect(chooseCoding(accept).coding).toBeUndefined();
  });

  it('may refuse the identity coding', () => {
    for (const accept of ['identity;q=0', 'gzip, identity;q=0', '*;q=0', 'gzip, *;q=0'])
      expect(chooseCoding(accept).isIdentityRefused).toBe(true);
    for (const accept of ['gzip', '*', 'identity;q=0.001, *;q=0', 'identity', 'identity;q=x'])
      expect(chooseCoding(accept).isIdentityRefused).toBe(false);
  });
});

describe('Prefer', () => {
  it.each([
    'handling=strict',
    'Handling=Strict',
    'handling="strict"',
    ' handling = strict ; foo=bar',
    'respond-async, wait=10, handling=strict',
    'foo="a, handling=lenient", handling=strict',
    String.raw`foo="a\", handling=lenient", handling=strict`,
    'handling=strict, handling=lenient',
  ])('%s selects strict handling', (prefer) => {
    expect(prefersStrict(prefer)).toBe(true);
  });

  it.each([
    undefined,
    '',
    'handling',
    'handling=',
    'handling=lenient',
    'handling=lenient, handling=strict',
    'handling=stricter',
    'handling=strict lenient',
    'handlings=strict',
    'strict',
    'return=minimal',
    'foo; handling=strict',
    'foo="handling=strict"',
    'foo="a, handling=strict',
    '=',
  ])('%j does not select strict handling', (prefer) => {
    expect(prefersStrict(prefer)).toBe(false);
  });
});

/** Whatever a header of 16 KB holds is read in one go: the work grows as the header does. */
it.each([
  ' ',
  ',',
  'a',
  '"',
  '\\',
  ';',
  'gzip;q=1',
  'gzip, ',
  'gzip ',
  '\t;',
  'handling =',
  'foo="',
  'foo="a\\", ',
])('a header with many repetitions of %j is read', (piece) => {
  const header = piece.repeat(Math.ceil((16 * 1024) / piece.length));
  expect(typeof chooseCoding(header).isIdentityRefused).toBe('boolean');
  expect(typeof prefersStrict(header)).toBe('boolean');
});

it.each(['handling#!', 'handling=#!', 'handling=strict#!', 'handling#=#!', 'gzip#;#!', 'gzip;q=1#!'])(
  'a header with many spaces in place of # in %j is read in linear time',
  (header) => {
    const text = header.replaceAll('#', ' '.repeat(7_500));
    const rounds = Array.from({ length: 5 }, () => {
      const begunAt = process.cpuUsage();
      prefersStrict(text);
      chooseCoding(text);
      return process.cpuUsage(begunAt).user / 1_000;
    });
    // In quadratic time, one round would take 80 ms or more.
    expect(Math.min(...rounds)).toBeLessThan(20);
  },
);
