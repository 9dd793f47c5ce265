// A tag of an action can be moved to other code; a commit cannot.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const folder = new URL('../../../.github/workflows/', import.meta.url);

it.each(readdirSync(folder))('%s names each action by its commit', (file) => {
  const text = readFileSync(new URL(file, folder), 'utf8');
  const actions = [...text.matchAll(/uses: *(\S+)/g)].map(([, action]) => action ?? '');
  expect(actions.filter((action) => !/@[0-9a-f]{40}$/.test(action))).toEqual([]);
});
