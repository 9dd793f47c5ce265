// The list of docs/data.md has each collection and each stream in which the services store data, once.
import { glob, readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { collectionNames } from '../../../shared/sync/src/names.ts';

const files = await Array.fromAsync(glob('{services,shared}/*/src/**/*.ts'));
const sources = await Promise.all(files.map((file) => readFile(file, 'utf8')));

/** The texts that the pattern's group finds in the sources. */
const found = (pattern: RegExp): string[] =>
  sources.flatMap((source) => [...source.matchAll(pattern)].map(([, name = '']) => name));

const page = await readFile('docs/data.md', 'utf8');

/** The names at the beginning of the entries of a place, in the order of the list. */
const namesIn = (place: string): string[] =>
  [...page.matchAll(new RegExp(`^- \\*\\*${place}: ([^*]+)\\*\\*`, 'gm'))].flatMap(([, names = '']) =>
    [...names.matchAll(/\w+/g)].map(([name]) => name),
  );

it('docs/data.md names each collection once', () => {
  const ofServices = ['catalog', 'batches'].flatMap((service) => Object.values(collectionNames(service)));
  const declared = found(/(?:[cC]ollection|plural)(?: =|:) '([a-z_]+)'/g);
  expect(declared.length).toBeGreaterThan(10);
  expect(namesIn('MongoDB').toSorted()).toEqual([...new Set([...ofServices, ...declared])].toSorted());
});

it('docs/data.md names each stream once', () => {
  const declared = found(/[sS]tream = '([A-Z_]+)'/g);
  expect(declared.length).toBeGreaterThan(2);
  expect(namesIn('NATS').toSorted()).toEqual(declared.toSorted());
});

it('no code opens a collection by a literal name', () => {
  expect(found(/\.collection(?:<[^()]*>)?\((['"`][^)]*)\)/g)).toEqual([]);
});
