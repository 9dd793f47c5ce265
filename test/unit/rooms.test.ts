// The rooms of each package: the folders of its `src`, and the files beside them. Arrows between rooms lead down.
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { houses } from '../../oxlint.config.ts';
import { arrowsOf, circleIn } from '../support/import-graph.ts';
import { temporaryFolder } from '../support/folder.ts';

const root = join(import.meta.dirname, '../..');
const packages = ['services', 'shared']
  .flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`))
  .concat('client', 'loader', 'console')
  .map((name) => `${name}/src`)
  .filter((folder) => existsSync(join(root, folder)));

it.each(packages)('the folders of %s import each other in one direction', (folder) => {
  expect(circleIn(arrowsOf(join(root, folder)))).toBeUndefined();
});

const foldersOf = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && hasCode(join(folder, entry.name)))
    .map(({ name }) => name);
const hasCode = (folder: string): boolean =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).some((name) => /\.tsx?$/.test(name));

it.each(packages)('the linter has a rule for each folder of %s', (folder) => {
  const rooms = houses.find((house) => house.folder === folder)?.rooms ?? {};
  expect(foldersOf(join(root, folder)).filter((room) => rooms[room] === undefined)).toEqual([]);
});

it('the check of imports finds a circle, and names its folders', async () => {
  await using folder = await temporaryFolder();
  const write = async (room: string, imported: string): Promise<void> => {
    await mkdir(join(folder.path, room));
    await writeFile(join(folder.path, room, 'one.ts'), `import { two } from '../${imported}.ts';\n`);
  };
  await write('sending', 'log/one');
  await write('log', 'config');
  await writeFile(join(folder.path, 'config.ts'), '');
  expect(circleIn(arrowsOf(folder.path))).toBeUndefined();
  await writeFile(join(folder.path, 'config.ts'), "export type { Send } from './sending/one.ts';\n");
  expect(circleIn(arrowsOf(folder.path))).toBe('config.ts → sending → log → config.ts');
});
