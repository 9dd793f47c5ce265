// The Pythons of this machine that the wheel is made for: 3.11 and newer.
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** The folder of the wheel's source, and that which Python imports it from. */
export const wheelFolder = resolve(import.meta.dirname, '../../python');
export const pythonPath = join(wheelFolder, 'src');

/** A Python that has the packages of .ci/run: dlt, flit_core, mypy, pandas and Polars. A machine without one runs the other tests. */
export const pythonWithPackages = process.env['PYTHON_WITH_PACKAGES'];

const probe = 'import sys; print(sys.implementation.name, *sys.version_info[:2])';

/** The version of a Python as `3.11`; undefined if it is too old, or none. */
function versionOf(python: string): string | undefined {
  const { status, stdout } = spawnSync(python, ['-c', probe]);
  const [name, major, minor] = status === 0 ? stdout.toString().trim().split(' ') : [];
  return name === 'cpython' && major === '3' && Number(minor) >= 11 ? `3.${minor}` : undefined;
}

const numbered = Array.from({ length: 10 }, (_, index) => `python3.${index + 11}`);
// A command of pyenv runs one of its versions; the others are in its folder.
const pyenv = process.env['PYENV_ROOT'] ?? join(homedir(), '.pyenv');
const found = ['python3', ...numbered, ...globSync(join(pyenv, 'versions/3.*/bin/python3'))]
  .map((python) => ({ python, version: versionOf(python) }))
  .flatMap(({ python, version }) => (version === undefined ? [] : [{ python, version }]));

/** One Python of each version, the oldest first. */
export const pythons = [...new Map(found.map((one) => [one.version, one])).values()].toSorted(
  (one, other) => Number(one.version.slice(2)) - Number(other.version.slice(2)),
);
