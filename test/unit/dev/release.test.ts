import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { lockWithVersion, nextVersion, withVersion, type Lock } from '../../../dev/release/version.ts';

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

it('each manifest and the lock file have the same version', () => {
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
