// A tag of an action can be moved to other code; a commit cannot.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const folder = new URL('../../../.github/workflows/', import.meta.url);

it('a release signs the pushed image and chart by their digests, and publishes the packages of npm run pack', () => {
  const text = readFileSync(new URL('release.yml', folder), 'utf8');
  const published = text.slice(text.indexOf('\n  publish:'));
  expect(published).toMatch(/^ {6}id-token: write$/m);
  const signed = [...published.matchAll(/cosign sign --yes (.*)$/gm)].map(([, what]) => what);
  expect(signed).toEqual([
    expect.stringMatching(/^--recursive .*@\$digest"$/),
    expect.stringContaining('@$('),
  ]);
  const order = [
    'imagetools create',
    'cosign sign',
    'helm push',
    'npm run --silent pack',
    'npm publish',
    'gh release create',
  ];
  const places = order.map((step) => published.indexOf(step));
  expect(places).toEqual(places.toSorted((one, other) => one - other));
  expect(places).not.toContain(-1);
});

it.each(readdirSync(folder))('%s names each action by its commit', (file) => {
  const text = readFileSync(new URL(file, folder), 'utf8');
  const actions = [...text.matchAll(/uses: *(\S+)/g)].map(([, action]) => action ?? '');
  expect(actions.filter((action) => !/@[0-9a-f]{40}$/.test(action))).toEqual([]);
});
