// The sources of services and shared code as syntax trees.
import { glob, readFile } from 'node:fs/promises';
import { parseSync } from 'rolldown/utils';

const files = await Array.fromAsync(glob('{services,shared}/*/src/**/*.ts'));

export const syntaxTrees = await Promise.all(
  files.map(async (file) => parseSync(file, await readFile(file, 'utf8')).program),
);
