import { describe, expect, it } from 'vitest';
import { parseBenchOptions } from '../../../dev/bench/options.ts';

describe('npm run bench', () => {
  it('runs pushes, events and listings unless others are named', () => {
    expect(parseBenchOptions([])).toStrictEqual({
      names: ['push', 'events', 'listings'],
      sizes: [1_000, 100_000, 1_000_000],
      turns: undefined,
      warm: undefined,
      rows: undefined,
      deliveries: undefined,
      seconds: undefined,
      engines: undefined,
      beside: undefined,
      help: false,
    });
  });

  it('runs the named benchmarks with the given turns, sizes and engines', () => {
    const args = ['throughput', 'rivals', '--turns', '3', '--warm=0', '--sizes=1000', '--engines', 'docker'];
    expect(parseBenchOptions(args)).toStrictEqual({
      names: ['throughput', 'rivals'],
      sizes: [1_000],
      turns: 3,
      warm: 0,
      rows: undefined,
      deliveries: undefined,
      seconds: undefined,
      engines: 'docker',
      beside: undefined,
      help: false,
    });
  });

  it('compares with another checkout only with --beside', () => {
    const { names, beside } = parseBenchOptions(['turns', '--beside', '../before']);
    expect({ names, beside }).toStrictEqual({ names: ['turns'], beside: '../before' });
  });

  it.each([
    [['turns'], 'turns needs --beside FOLDER, the folder of another checkout'],
    [['deliveries'], 'deliveries needs --beside FOLDER, the folder of another checkout'],
    [['pushes'], 'there is no benchmark "pushes"'],
    [['--turns', '0'], '--turns takes a number from 1 to 1000, not "0"'],
    [['--sizes', '1000,few'], '--sizes takes a number from 1000 to 10000000, not "few"'],
  ])('refuses %j', (args, words) => {
    expect(() => parseBenchOptions(args)).toThrow(new RangeError(words));
  });

  it('refuses an unknown source of engines', () => {
    expect(() => parseBenchOptions(['--engines', 'podman'])).toThrow(
      'expected one of docker, path, download, build',
    );
  });
});
