// The table of docs/data.md has each collection and each stream in which the services store data, once.
import { glob, readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { collectionNames } from '../../../shared/sync/src/names.ts';

const files = await Array.fromAsync(glob('{services,shared}/*/src/**/*.ts'));
const sources = await Promise.all(files.map((file) => readFile(file, 'utf8')));

/** The texts that the pattern's group finds in the sources. */
const found = (pattern: RegExp): string[] =>
  sources.flatMap((source) => [...source.matchAll(pattern)].map(([, name = '']) => name));

const table = (await readFile('docs/data.md', 'utf8')).split('\n');

/** The names in the first column of the rows that begin so, in the order of the table. */
const rows = (place: string): string[] =>
  table
    .filter((line) => line.startsWith(`| ${place}: `))
    .flatMap((line) => [...(line.split('|')[1] ?? '').matchAll(/\w+/g)].map(([name]) => name))
    .filter((name) => name !== place);

it('docs/data.md names each collection once', () => {
  const ofServices = ['catalog', 'batches'].flatMap((service) => Object.values(collectionNames(service)));
  const declared = found(/(?:[cC]ollection|plural)(?: =|:) '([a-z_]+)'/g);
  expect(declared.length).toBeGreaterThan(10);
  expect(rows('MongoDB').toSorted()).toEqual([...new Set([...ofServices, ...declared])].toSorted());
});

it('docs/data.md names each stream once', () => {
  const declared = found(/[sS]tream = '([A-Z_]+)'/g);
  expect(declared.length).toBeGreaterThan(2);
  expect(rows('NATS').toSorted()).toEqual(declared.toSorted());
});

it('no code opens a collection by a literal name', () => {
  expect(found(/\.collection(?:<[^()]*>)?\((['"`][^)]*)\)/g)).toEqual([]);
});
