// Each metric that the services register is in the list from which docs/monitoring.md is written (dev/docs/metrics.ts).
// A system test compares the same list with what a running stack serves.
import { metricRows } from '@integration-sync/dev/metrics';
import { glob, readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';

/** What a literal of code names beside a metric's name or in its table, and no string that is a collection's name. */
const named = /'((?:sync|gateway|webhook)_[a-z_]+)'/g;
const collections = /(?:[cC]ollection|plural)(?: =|:) '([a-z_]+)'/g;

const files = await Array.fromAsync(glob('{services,shared}/*/src/**/*.ts'));
const sources = await Promise.all(files.map((file) => readFile(file, 'utf8')));
const found = (pattern: RegExp): Set<string> =>
  new Set(sources.flatMap((source) => Array.from(source.matchAll(pattern), ([, name = '']) => name)));

it('docs/monitoring.md describes each metric of the services, and no other', () => {
  const documented = metricRows.flatMap(({ metrics }) => metrics.map(({ name }) => name));
  const registered = found(named).difference(found(collections));
  expect(registered.size).toBeGreaterThan(30);
  expect([...registered].toSorted()).toEqual(documented.toSorted());
});
