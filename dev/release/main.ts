// npm run release -- minor: writes the next version everywhere, closes the changelog's section, commits and tags. A tag that is
// pushed makes the forge build and publish (.github/workflows/release.yml).
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { explainMisuse } from '../process/words.ts';
import {
  chartWithVersion,
  imageWithVersion,
  lockWithVersion,
  nextVersion,
  notesOf,
  releasedChangelog,
  steps,
  wheelWithVersion,
  withVersion,
} from './version.ts';

const usage = `Usage: npm run release -- major | minor | patch
       npm run release -- --notes 1.1.0     prints the changelog's section of that release
From the branch main, with nothing uncommitted. Nothing is pushed: git push --follow-tags does that.
`;

const root = resolve(process.env['RELEASE_ROOT'] || join(import.meta.dirname, '../..'));
const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const change = (path: string, changed: (text: string) => string): void =>
  writeFileSync(join(root, path), changed(read(path)));
const changeJson =
  <T>(changed: (value: T) => T) =>
  (text: string): string =>
    `${JSON.stringify(changed(JSON.parse(text)), undefined, 2)}\n`;

function checkTree(tag: string): void {
  const branch = git('branch', '--show-current');
  if (branch !== 'main')
    throw new RangeError(
      `a release is made from the branch main, but the current branch is ${branch || 'none'}`,
    );
  const dirty = git('status', '--porcelain');
  if (dirty !== '') throw new RangeError(`commit or discard these changes first:\n${dirty}`);
  if (git('tag', '--list', tag) !== '') throw new RangeError(`the tag ${tag} exists already`);
}

function release(step: string | undefined): void {
  const known = steps.find((one) => one === step);
  if (known === undefined) throw new RangeError(`expected major, minor or patch, got ${step ?? 'nothing'}`);
  const { version: before, workspaces }: { version: string; workspaces: string[] } = JSON.parse(
    read('package.json'),
  );
  const version = nextVersion(before, known);
  const tag = `v${version}`;
  checkTree(tag);
  const changelog = releasedChangelog(read('CHANGELOG.md'), version, new Date().toISOString().slice(0, 10));
  if (changelog === undefined) throw new RangeError('CHANGELOG.md has nothing under "Unreleased"');

  change('CHANGELOG.md', () => changelog);
  const manifests = workspaces.map((folder) => join(folder, 'package.json'));
  for (const path of ['package.json', ...globSync(manifests, { cwd: root })])
    change(
      path,
      changeJson((manifest: object) => withVersion(manifest, version)),
    );
  change(
    'package-lock.json',
    changeJson((lock: Parameters<typeof lockWithVersion>[0]) => lockWithVersion(lock, version)),
  );
  change('deploy/helm/Chart.yaml', (text) => chartWithVersion(text, version));
  change('python/pyproject.toml', (text) => wheelWithVersion(text, version));
  change('Dockerfile', (text) => imageWithVersion(text, version));
  try {
    execFileSync('npm', ['run', 'generate'], { cwd: root, stdio: 'inherit' });
  } catch {
    // The tree was clean before, so a hard reset drops only the changes of this release.
    git('reset', '--quiet', '--hard');
    throw new RangeError('npm run generate failed, as printed above; all files are unchanged');
  }
  git('commit', '--quiet', '--all', '--message', `release: make ${version}`);
  git('tag', '--annotate', tag, '--message', `Release ${version}\n\n${notesOf(changelog, version)}`);
  process.stdout.write(`${version} is committed and tagged. git push --follow-tags publishes it.\n`);
}

try {
  const { values, positionals } = parseArgs({
    options: { notes: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
    allowPositionals: true,
  });
  if (values.help === true) process.stdout.write(usage);
  else if (values.notes === undefined) release(positionals[0]);
  else process.stdout.write(notesOf(read('CHANGELOG.md'), values.notes));
} catch (error) {
  process.stderr.write(explainMisuse(error, usage));
  process.exitCode = 2;
}
