// Every link of the documents, every file that they name, and every page of docs/ that code, the chart and the configurations
// name, leads somewhere: to a file that there is, and to a heading of it.
import { existsSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { expect, it } from 'vitest';
import { repository } from '../../support/deploy-files.ts';

const markdown = '{*.md,docs/*.md,{client,loader,deploy/helm}/README.md}';
/** Without the changelog, which speaks of what was. */
const present = '{README,CONTRIBUTING,docs/*}.md';
const naming = '{services,shared,dev,loader,client,deploy}/**/*.{ts,yaml,conf,json}';

/** As GitHub makes the anchor of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');

const withoutFences = (text: string): string => text.replaceAll(/^```.*?^```$/gms, '');

const anchorsOf = (text: string): Set<string> =>
  new Set(Array.from(withoutFences(text).matchAll(/^#+ (.+)$/gm), ([, heading = '']) => anchorOf(heading)));

async function faultOf(from: string, target: string): Promise<string | undefined> {
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? from : join(dirname(from), path);
  if (!existsSync(join(repository, file))) return `${from}: there is no ${file}`;
  if (anchor === undefined || anchorsOf(await readFile(join(repository, file), 'utf8')).has(anchor))
    return undefined;
  return `${from}: ${file} has no #${anchor}`;
}

const faultsOf = async (links: readonly { from: string; target: string }[]): Promise<string[]> =>
  (await Promise.all(links.map(({ from, target }) => faultOf(from, target)))).filter(
    (fault) => fault !== undefined,
  );

const exclude = (name: string): boolean => name.split('/').includes('node_modules');

async function* filesOf(pattern: string): AsyncGenerator<{ from: string; text: string }> {
  for await (const from of glob(pattern, { cwd: repository, exclude }))
    yield { from, text: await readFile(join(repository, from), 'utf8') };
}

const linksOf = (from: string, text: string) =>
  Array.from(withoutFences(text).matchAll(/\]\((?!\w+:)([^)\s]+)\)/g), ([, target = '']) => ({
    from,
    target,
  }));

/** `shared/contracts/src/events.ts`, from the folder of the project. */
const pathsOf = (from: string, text: string) =>
  Array.from(
    text.matchAll(/`((?:client|deploy|dev|docs|loader|services|shared|test)\/[\w./-]+)`/g),
    ([, path = '']) => ({ from, target: relative(dirname(from), path) }),
  );

/** `docs/operating.md#users`, from the folder of the project. */
const namesOf = (from: string, text: string) =>
  Array.from(text.matchAll(/\bdocs\/\w[\w-]*\.md(?:#[\w-]*\w)?/g), ([name]) => ({
    from,
    target: relative(dirname(from), name),
  }));

it('each link of a document leads to an existing file and heading', async () => {
  const links = (await Array.fromAsync(filesOf(markdown))).flatMap(({ from, text }) => linksOf(from, text));
  expect(links.length).toBeGreaterThan(50);
  expect(await faultsOf(links)).toEqual([]);
});

it('each file and folder that a document names exists', async () => {
  const named = (await Array.fromAsync(filesOf(present))).flatMap(({ from, text }) => pathsOf(from, text));
  expect(named.length).toBeGreaterThan(50);
  expect(await faultsOf(named)).toEqual([]);
});

it('each page and heading that the code, the chart or a configuration names exists', async () => {
  const names = (await Array.fromAsync(filesOf(naming))).flatMap(({ from, text }) => namesOf(from, text));
  expect(names.length).toBeGreaterThan(5);
  expect(await faultsOf(names)).toEqual([]);
});

it.each([
  ['nowhere.md', 'there is no docs/nowhere.md'],
  ['api.md#nowhere', 'docs/api.md has no #nowhere'],
  ['#nowhere', 'docs/keys.md has no #nowhere'],
])('the check of links reports the wrong link %s', async (target, fault) => {
  expect(await faultsOf([{ from: 'docs/keys.md', target }])).toEqual([`docs/keys.md: ${fault}`]);
});
