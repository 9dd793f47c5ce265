// The number of the next release, and the texts that hold it. Pure.

export const steps = ['major', 'minor', 'patch'] as const;
export type Step = (typeof steps)[number];

export function nextVersion(version: string, step: Step): string {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  if (step === 'major') return `${major + 1}.0.0`;
  return step === 'minor' ? `${major}.${minor + 1}.0` : `${major}.${minor}.${patch + 1}`;
}

interface Manifest {
  name?: string;
  version?: string;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

/** The loader's package has the name of its command, without a scope. */
const isOurs = (name: string): boolean =>
  name === 'integration-sync' || name.startsWith('@integration-sync/');

/** A package.json, or an entry of package-lock.json: its own version, and the versions of the project's packages that it needs. */
export function withVersion<M extends Manifest>(manifest: M, version: string): M {
  const renumbered = (all: Record<string, string>): Record<string, string> =>
    Object.fromEntries(Object.entries(all).map(([name, range]) => [name, isOurs(name) ? version : range]));
  return {
    ...manifest,
    version,
    ...(manifest.dependencies === undefined ? {} : { dependencies: renumbered(manifest.dependencies) }),
    ...(manifest.devDependencies === undefined
      ? {}
      : { devDependencies: renumbered(manifest.devDependencies) }),
  };
}

export interface Lock extends Manifest {
  packages: Record<string, Manifest>;
}

/** Entries of folders are this project's packages; entries of node_modules are other packages, or links without a version. */
export const lockWithVersion = (lock: Lock, version: string): Lock => ({
  ...lock,
  version,
  packages: Object.fromEntries(
    Object.entries(lock.packages).map(([path, entry]) => [
      path,
      path.includes('node_modules/') ? entry : withVersion(entry, version),
    ]),
  ),
});

/** `version` and `appVersion` of Chart.yaml. */
export const chartWithVersion = (text: string, version: string): string =>
  text.replaceAll(/^(version|appVersion): .*$/gm, `$1: ${version}`);

/** The version of the wheel in pyproject.toml. */
export const wheelWithVersion = (text: string, version: string): string =>
  text.replace(/^version = .*$/m, `version = "${version}"`);

/** Sets the default of VERSION, the build argument of the image, in the Dockerfile. */
export const imageWithVersion = (text: string, version: string): string =>
  text.replace(/^ARG VERSION=.*$/m, `ARG VERSION=${version}`);

const unreleased = '## Unreleased\n';

/** Moves the unreleased changes below the heading of the release; returns undefined if there are none. */
export function releasedChangelog(text: string, version: string, day: string): string | undefined {
  const [head = '', rest] = text.split(unreleased);
  if (rest === undefined || /^\s*(## |$)/.test(rest)) return undefined;
  return `${head}${unreleased}\n## ${version} – ${day}\n${rest}`;
}

/** The section of a release, for its page on the forge. */
export function notesOf(text: string, version: string): string {
  const start = text.search(new RegExp(`^## ${RegExp.escape(version)}\\b`, 'm'));
  if (start === -1) throw new RangeError(`CHANGELOG.md has no section ${version}`);
  const section = text.slice(text.indexOf('\n', start) + 1);
  const end = section.search(/^## /m);
  return `${(end === -1 ? section : section.slice(0, end)).trim()}\n`;
}
