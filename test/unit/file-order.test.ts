// The order of test files names files. A name whose file was renamed would quietly let the file begin at the end of a run.
import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { longest } from '../support/longest-first.ts';

const testFolder = `${import.meta.dirname}/..`;

it.each(longest)('%s, which the order of test files names, exists', (name) => {
  expect(existsSync(`${testFolder}/${name}.test.ts`)).toBe(true);
});

it('the order of test files names no file twice', () => {
  expect(longest).toHaveLength(new Set(longest).size);
});
