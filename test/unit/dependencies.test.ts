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
  const inner = await Array.fromAsync(
    glob('**/package.json', { cwd: folder, exclude: ['**/node_modules'] }),
    (file) => dirname(file),
  );
  // A package in it names its own.
  const exclude = ['**/node_modules', ...inner.filter((one) => one !== '.')];
  for await (const file of glob('**/*.{ts,tsx}', { cwd: folder, exclude })) {
    texts.set(file, await readFile(join(folder, file), 'utf8'));
  }
  return texts;
}

function undeclaredIn(texts: ReadonlyMap<string, string>, declared: (name: string) => boolean): string[] {
  const undeclared: string[] = [];
  for (const [file, text] of texts) {
    for (const [, one, other] of text.matchAll(imported)) {
      const needed = packageOf(one ?? other ?? '');
      // What begins with # is a door of the package's own, which `imports` of its package.json names.
      if (!/^(?:node:|#)/.test(needed) && !declared(needed)) undeclared.push(`${file}: ${needed}`);
    }
  }
  return undeclared;
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

it.each(manifests)('%s has exactly the imported packages as dependencies', async (manifest) => {
  const read = JSON.parse(await readFile(join(root, manifest), 'utf8'));
  const { name } = read;
  // What the console needs is needed where it is built, and not where it is served.
  const dependencies = { ...read.dependencies, ...read.devDependencies };
  // The tools of the whole project may also be used in code that does not ship.
  const tools = manifest.startsWith('services') || manifest.startsWith('shared') ? {} : devDependencies;
  const texts = await filesOf(join(root, dirname(manifest)));
  const declared = (needed: string): boolean => needed === name || needed in dependencies || needed in tools;
  expect(undeclaredIn(texts, declared)).toEqual([]);
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

// Its packages are not installed with the project's, and what a framework loads by itself stands in no import.
it('the rival products of the benchmark declare the packages that they import, and belong to no workspace', async () => {
  const folder = join(root, 'dev/bench/rivals');
  const { dependencies } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const texts = await filesOf(folder);
  expect(undeclaredIn(texts, (needed) => needed in dependencies)).toEqual([]);
  const all = [...texts.values()].join('\n');
  expect(Object.keys(dependencies).filter((one) => !all.includes(one))).toEqual([]);
  const lock = await readFile(join(root, 'package-lock.json'), 'utf8');
  expect(lock).not.toMatch(/nestjs|dev\/bench\/rivals/);
});

it.each(['package-lock.json', 'dev/bench/rivals/package-lock.json'])(
  'the lock file %s has no address of a registry',
  async (file) => {
    expect(await readFile(join(root, file), 'utf8')).not.toContain('"resolved": "http');
  },
);
