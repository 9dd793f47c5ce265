import { expect, it } from 'vitest';
import { parseBenchOptions } from '../../../dev/bench/options.ts';

it.each([
  [['turns'], 'turns needs --beside FOLDER, the folder of another checkout'],
  [['deliveries'], 'deliveries needs --beside FOLDER, the folder of another checkout'],
  [['pushes'], 'there is no benchmark "pushes"'],
  [['--turns', '0'], '--turns takes a number from 1 to 1000, not "0"'],
  [['--sizes', '1000,few'], '--sizes takes a number from 1000 to 10000000, not "few"'],
  [['--engines', 'podman'], 'ENGINES: expected one of docker, path, download, build, got "podman"'],
])('npm run bench refuses %j', (args, words) => {
  expect(() => parseBenchOptions(args)).toThrow(words);
});
