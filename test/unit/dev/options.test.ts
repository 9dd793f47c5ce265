import { describe, expect, it } from 'vitest';
import { parseOptions } from '../../../dev/stack/options.ts';

describe('npm start', () => {
  it('runs one replica of each service and keeps the data by default', () => {
    expect(parseOptions([])).toStrictEqual({ replicas: {}, fresh: false, watch: false, help: false });
  });

  it('accepts numbers of replicas, --fresh and --watch', () => {
    expect(parseOptions(['--catalog', '2', '--webhooks=3', '--fresh', '--watch'])).toStrictEqual({
      replicas: { catalog: 2, webhooks: 3 },
      fresh: true,
      watch: true,
      help: false,
    });
  });

  it.each(['0', '17', '-1', '1.5', 'two', ''])('refuses --catalog=%s', (count) => {
    expect(() => parseOptions([`--catalog=${count}`])).toThrow(
      /^--catalog takes a number from 1 to 16, not ".*Usage: /s,
    );
  });

  it.each([['--bogus'], ['catalog'], ['--gateway', '2'], ['--catalog']])(
    'answers %s with its usage',
    (...args) => {
      expect(() => parseOptions(args)).toThrow(/Usage: npm start/);
    },
  );
});
