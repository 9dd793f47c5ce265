// Each package names what it needs itself: a package that is there only because another asked for it may go
// with that one.
import { glob, readFile } from 'node:fs/promises';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const imported = /^(?:import|export)\s(?:[^;'`]*\sfrom\s)?'([^'.][^']*)'|\bimport\('([^'.][^']*)'\)/gm;

async function filesOf(folder: string): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for await (const file of glob('**/*.ts', { cwd: folder, exclude: ['**/node_modules'] })) {
    texts.set(file, await readFile(join(folder, file), 'utf8'));
  }
  return texts;
}

const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

interface Installed {
  name: string;
  bin?: string | Record<string, string>;
  peerDependencies?: Record<string, string>;
}

async function readInstalled(name: string, from: string): Promise<Installed> {
  const file = findPackageJSON(name, from);
  if (file === undefined) throw new Error(`${name} is not installed`);
  return JSON.parse(await readFile(file, 'utf8'));
}

const { workspaces, devDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
const manifests = await Array.fromAsync(
  glob(
    workspaces.map((folder: string) => `${folder}/package.json`),
    { cwd: root },
  ),
);

it.each(manifests)('%s names what its package imports, and nothing else', async (manifest) => {
  const { name, dependencies = {} } = JSON.parse(await readFile(join(root, manifest), 'utf8'));
  // The tools of the whole project may also be used in code that does not ship.
  const tools = manifest.startsWith('services') || manifest.startsWith('shared') ? {} : devDependencies;
  const texts = await filesOf(join(root, dirname(manifest)));
  const undeclared: string[] = [];
  for (const [file, text] of texts) {
    for (const [, one, other] of text.matchAll(imported)) {
      const needed = packageOf(one ?? other ?? '');
      if (needed.startsWith('node:') || needed === name || needed in dependencies || needed in tools)
        continue;
      undeclared.push(`${file}: ${needed}`);
    }
  }
  expect(undeclared).toEqual([]);
  const all = [...texts.values()].join('\n');
  const names = Object.keys(dependencies);
  const installed = await Promise.all(names.map((one) => readInstalled(one, join(root, manifest))));
  const peers = new Set(installed.flatMap(({ peerDependencies = {} }) => Object.keys(peerDependencies)));
  const unused = installed.filter((one) => {
    const commands = typeof one.bin === 'object' ? Object.keys(one.bin) : [];
    return !peers.has(one.name) && ![one.name, ...commands].some((word) => all.includes(word));
  });
  expect(unused.map((one) => one.name)).toEqual([]);
});
