import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { former } from '../upgrade/data-set.ts';

it('the tests of upgrades begin on the last release or the release before', async () => {
  const changelog = await readFile(new URL('../../CHANGELOG.md', import.meta.url), 'utf8');
  const releases = Array.from(changelog.matchAll(/^## (\d+\.\d+\.\d+)\b/gm), ([, version]) => version);
  expect(releases.slice(0, 2)).toContain(former.release);
});
