import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  chartWithVersion,
  imageWithVersion,
  lockWithVersion,
  nextVersion,
  notesOf,
  releasedChangelog,
  withVersion,
  type Lock,
} from '../../../dev/release/version.ts';

const root = resolve(import.meta.dirname, '../../..');
const manifestAt = (path: string): { version: string; workspaces?: string[] } =>
  JSON.parse(readFileSync(join(root, path), 'utf8'));

it.each([
  ['major', '2.0.0'],
  ['minor', '1.5.0'],
  ['patch', '1.4.8'],
] as const)('the next %s version after 1.4.7 is %s', (step, next) => {
  expect(nextVersion('1.4.7', step)).toBe(next);
});

describe('a version is written', () => {
  it('into a manifest, for packages of the project alone', () => {
    const manifest = {
      name: '@integration-sync/sync',
      version: '1.0.0',
      dependencies: { '@integration-sync/runtime': '1.0.0', 'integration-sync': '1.0.0', mongodb: '1.0.0' },
    };
    expect(withVersion(manifest, '1.1.0')).toEqual({
      name: '@integration-sync/sync',
      version: '1.1.0',
      dependencies: { '@integration-sync/runtime': '1.1.0', 'integration-sync': '1.1.0', mongodb: '1.0.0' },
    });
  });

  it('the same in each manifest and in the lock file', () => {
    const { version, workspaces } = manifestAt('package.json');
    const folders = globSync(workspaces ?? [], { cwd: root });
    expect(folders).toContain('console');
    for (const folder of folders) {
      const manifest = manifestAt(join(folder, 'package.json'));
      expect(withVersion(manifest, version)).toEqual(manifest);
    }
    const lock: Lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
    expect(lockWithVersion(lock, version)).toEqual(lock);
  });

  it('into the lock file, but for packages in node_modules', () => {
    const lock = {
      version: '1.0.0',
      packages: {
        '': { version: '1.0.0' },
        'shared/sync': { version: '1.0.0', dependencies: { '@integration-sync/runtime': '1.0.0' } },
        'node_modules/once': { version: '1.0.0' },
        'services/webhooks/node_modules/once': { version: '1.0.0' },
      },
    };
    expect(lockWithVersion(lock, '1.1.0')).toEqual({
      version: '1.1.0',
      packages: {
        '': { version: '1.1.0' },
        'shared/sync': { version: '1.1.0', dependencies: { '@integration-sync/runtime': '1.1.0' } },
        'node_modules/once': { version: '1.0.0' },
        'services/webhooks/node_modules/once': { version: '1.0.0' },
      },
    });
  });

  it('into the chart and the image', () => {
    expect(chartWithVersion('name: x\nversion: 1.0.0\nappVersion: 1.0.0\n', '1.1.0')).toBe(
      'name: x\nversion: 1.1.0\nappVersion: 1.1.0\n',
    );
    expect(imageWithVersion('FROM x\nARG VERSION=1.0.0\nARG REVISION=u\n', '1.1.0')).toBe(
      'FROM x\nARG VERSION=1.1.0\nARG REVISION=u\n',
    );
  });
});

describe('the changelog', () => {
  const text = '# Changelog\n\n## Unreleased\n\n### Added\n\n- This.\n\n## 1.0.0\n\nThe first.\n';

  it('keeps an empty Unreleased above the new section', () => {
    const released = releasedChangelog(text, '1.1.0', '2026-11-26') ?? '';
    expect(released).toContain('## Unreleased\n\n## 1.1.0 – 2026-11-26\n\n### Added\n\n- This.\n');
    expect(notesOf(released, '1.1.0')).toBe('### Added\n\n- This.\n');
    expect(notesOf(released, '1.0.0')).toBe('The first.\n');
    expect(releasedChangelog(released, '1.2.0', '2026-11-27')).toBeUndefined();
  });

  it('has no notes of an unknown release', () => {
    expect(() => notesOf(text, '9.9.9')).toThrow(RangeError);
  });
});
