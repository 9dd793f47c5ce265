import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { keptReleases, version } from '../upgrade/data-set.ts';
import { formerRelease } from '../upgrade/former.ts';
import { chooseRelease, releasesOf } from '../upgrade/releases.ts';

describe('the upgrade test', () => {
  it.each([
    ['1.0.0', ['1.0.0'], '1.0.0'],
    ['1.1.0', ['1.0.0'], '1.0.0'],
    ['1.1.0', ['1.0.0', '1.1.0'], '1.1.0'],
    ['1.10.0', ['1.10.0', '1.2.0', '1.9.3'], '1.10.0'],
    ['1.9.9', ['1.10.0', '1.2.0', '1.9.3'], '1.9.3'],
    ['2.0.0', ['1.10.0', '1.2.0', '3.0.0'], '1.10.0'],
  ])('starts on the data set of the newest release up to %s', (of, kept, chosen) => {
    expect(chooseRelease(kept, of)).toBe(chosen);
  });

  it('fails where all kept data sets are of later releases', () => {
    expect(() => chooseRelease(['1.1.0'], '1.0.9')).toThrow('no data set is of 1.0.9');
  });

  it('starts on the data set of the last release or of the release before', async () => {
    const changelog = await readFile(new URL('../../CHANGELOG.md', import.meta.url), 'utf8');
    expect(releasesOf(changelog).slice(0, 2)).toContain(chooseRelease(keptReleases(), version));
  });

  it('runs beside the last release or the release before', async () => {
    const changelog = await readFile(new URL('../../CHANGELOG.md', import.meta.url), 'utf8');
    expect(releasesOf(changelog).slice(0, 2)).toContain(formerRelease);
  });

  it('finds the releases of the changelog, the newest first', () => {
    const changelog = '## Unreleased\n\n## 1.2.0 – 2027-01-01\n\n- In ## 0.9.0\n\n## 1.1.0\n\n### Added\n';
    expect(releasesOf(changelog)).toEqual(['1.2.0', '1.1.0']);
  });
});
