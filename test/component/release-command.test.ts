// npm run release, in a repository of its own: what it refuses it leaves as it was.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { useFolder } from '../support/use-folder.ts';

const command = resolve(import.meta.dirname, '../../dev/release/main.ts');
const names = { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' };
const author = ['-c', 'user.name=Somebody', '-c', 'user.email=somebody@example.com'];
const folder = useFolder();
let root: string;

const git = (...args: string[]): string =>
  execFileSync('git', [...author, ...args], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, ...names },
  }).trim();

function release(...args: string[]) {
  const env = {
    ...process.env,
    ...names,
    RELEASE_ROOT: root,
    GIT_AUTHOR_NAME: 'Somebody',
    GIT_AUTHOR_EMAIL: 'somebody@example.com',
    GIT_COMMITTER_NAME: 'Somebody',
    GIT_COMMITTER_EMAIL: 'somebody@example.com',
  };
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, ...args], {
    env,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

const manifest = {
  name: 'all',
  version: '1.0.0',
  workspaces: ['shared/*', 'loader'],
  scripts: { generate: 'node -e 0' },
};
const lockOf = (version: string) => ({
  version,
  packages: {
    '': { version },
    'shared/sync': { version, dependencies: { '@integration-sync/runtime': version } },
    'node_modules/once': { version: '1.0.0' },
    'services/webhooks/node_modules/once': { version: '1.0.0' },
  },
});
const write = (path: string, text: string): void => writeFileSync(join(root, path), text);
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

beforeEach(() => {
  root = folder.path;
  for (const path of ['deploy/helm', 'shared/sync', 'loader', 'python'])
    mkdirSync(join(root, path), { recursive: true });
  write('package.json', JSON.stringify(manifest));
  write('shared/sync/package.json', JSON.stringify({ name: '@integration-sync/sync', version: '1.0.0' }));
  write(
    'loader/package.json',
    JSON.stringify({
      version: '1.0.0',
      dependencies: { '@integration-sync/client': '1.0.0', mongodb: '1.0.0' },
    }),
  );
  write('package-lock.json', JSON.stringify(lockOf('1.0.0')));
  write('deploy/helm/Chart.yaml', 'version: 1.0.0\nappVersion: 1.0.0\n');
  write('Dockerfile', 'ARG VERSION=1.0.0\n');
  write('python/pyproject.toml', '[project]\nversion = "1.0.0"\n');
  write('CHANGELOG.md', '# Changelog\n\n## Unreleased\n\n- Something.\n\n## 1.0.0\n\nThe first.\n');
  git('init', '--quiet', '--initial-branch', 'main');
  git('add', '--all');
  git('commit', '--quiet', '--message', 'all: begin');
});

it('the release command writes the version everywhere, commits, and tags with the notes', () => {
  expect(release('minor')).toMatchObject({ status: 0, stderr: '' });
  expect(git('status', '--porcelain')).toBe('');
  expect(git('log', '-1', '--format=%s')).toBe('release: make 1.1.0');
  expect(git('tag', '--list', '-n5')).toContain('- Something.');
  for (const path of ['package.json', 'shared/sync/package.json', 'loader/package.json'])
    expect(JSON.parse(read(path)).version).toBe('1.1.0');
  const { dependencies } = JSON.parse(read('loader/package.json'));
  expect(dependencies).toEqual({ '@integration-sync/client': '1.1.0', mongodb: '1.0.0' });
  expect(JSON.parse(read('package-lock.json'))).toEqual(lockOf('1.1.0'));
  expect(read('CHANGELOG.md')).toMatch(
    /\n## Unreleased\n\n## 1\.1\.0 – [\d-]{10}\n\n- Something\.\n\n## 1\.0\.0\n/,
  );
  expect(read('deploy/helm/Chart.yaml')).toBe('version: 1.1.0\nappVersion: 1.1.0\n');
  expect(read('python/pyproject.toml')).toBe('[project]\nversion = "1.1.0"\n');
  expect(read('Dockerfile')).toBe('ARG VERSION=1.1.0\n');
  expect(release('--notes', '1.1.0').stdout).toBe('- Something.\n');
  expect(release('--notes', '1.0.0').stdout).toBe('The first.\n');
  expect(release('--notes', '9.9.9').status).not.toBe(0);
});

it.each<[string, string, () => void]>([
  ['an unclean tree', 'commit or discard these changes first', () => write('new', 'x')],
  ['another branch', 'made from the branch main', () => git('switch', '--quiet', '--create', 'other')],
  ['a tag that exists', 'v1.1.0 exists already', () => git('tag', 'v1.1.0')],
  [
    'a tree of which not everything can be generated',
    'npm run generate failed',
    () => {
      write(
        'package.json',
        JSON.stringify({ ...manifest, scripts: { generate: 'node -e "process.exit(1)"' } }),
      );
      git('commit', '--quiet', '--all', '--message', 'dev: need a helm');
    },
  ],
  [
    'nothing to release',
    'nothing under "Unreleased"',
    () => {
      write('CHANGELOG.md', '# Changelog\n\n## Unreleased\n\n## 1.0.0\n\nThe first.\n');
      git('commit', '--quiet', '--all', '--message', 'docs: empty');
    },
  ],
])('the release command refuses %s, and changes nothing', (_what, words, prepare) => {
  prepare();
  const before = [git('log', '--format=%H'), git('status', '--porcelain'), read('package.json')];
  const { status, stderr } = release('minor');
  expect(status).toBe(2);
  expect(stderr).toContain(words);
  expect([git('log', '--format=%H'), git('status', '--porcelain'), read('package.json')]).toEqual(before);
});

it('the release command refuses an unknown step', () => {
  expect(release('big')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('expected major, minor or patch'),
  });
});
