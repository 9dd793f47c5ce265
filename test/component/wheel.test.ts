// The wheel of python/: its cases under each Python of this machine, its types, and an environment that was empty.
import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { packWheel } from '@integration-sync/dev/pack';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { pythonPath, pythons, pythonWithPackages, wheelFolder } from '../support/python.ts';

const run = promisify(execFile);
const cases = resolve('test/cases/client.json');

/** Runs the tests of files of such a name; throws what they print if one fails. */
async function runTests(python: string, pattern: string, path: string): Promise<string> {
  const args = ['-X', 'dev', '-m', 'unittest', 'discover', '-s', join(wheelFolder, 'tests'), '-p', pattern];
  const env = { PATH: process.env['PATH'], PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: '1', CASES: cases };
  return (await run(python, args, { env, timeout: 100_000 })).stderr;
}

it.each(pythons)(
  'the Python wheel passes its tests and the test cases of all clients under Python $version',
  async ({ python }) => {
    for (const pattern of ['test_c*.py', 'test_items.py'])
      expect(await runTests(python, pattern, pythonPath)).toMatch(/^Ran [1-9]\d* tests in .*\n\nOK\n$/m);
  },
);

const withPackages = pythonWithPackages === undefined ? [] : [pythonWithPackages];

it.each(withPackages)(
  'the Python wheel reads and returns data frames of pandas and Polars, by %s',
  async (python) => {
    expect(await runTests(python, 'test_frames.py', pythonPath)).toMatch(/\nOK\n$/);
  },
);

const mypy = (python: string, folder: string, ...args: string[]): Promise<string> =>
  run(python, ['-m', 'mypy', '--strict', '--cache-dir', join(folder, 'cache'), ...args], {
    cwd: wheelFolder,
  }).then(
    ({ stdout }) => stdout,
    (error: unknown) => (error as { stdout: string }).stdout,
  );

it.each(withPackages)('the Python wheel and its tests pass a strict type check by %s', async (python) => {
  await using folder = await temporaryFolder();
  expect(await mypy(python, folder.path, 'src', 'tests')).toMatch(/^Success: no issues found/);
});

const use = `from integration_sync import Client, verify_webhook
client = Client("http://127.0.0.1", key="isk_")
client.push("suppliers", [{"externalId": "S-1", "name": "One"}]).created.bit_count()
client.push("vendors", [])
client.push("suppliers", ["S-1"])
for product in client.list("products", changed_since="2026-03-31", details=True):
    product["details"]["fields"]["hsCode"]
    product["details"]["fields"]["hscode"]
client.list("products", changedSince="2026-03-31")
event = verify_webhook("", {}, b"")
if event["event"] == "supplier.updated":
    event["data"]["changedFields"].sort()
if event["event"] == "supplier.created":
    event["data"]["changedFields"]
`;

it.each(withPackages)(
  'the Python wheel installs into an empty environment, with its types, and passes its tests there, by %s',
  async (python) => {
    await using folder = await temporaryFolder();
    const wheel = packWheel(folder.path, python);
    expect(existsSync(wheel)).toBe(true);
    for (const [index, one] of [...new Set([pythons[0], pythons.at(-1)])].entries()) {
      const place = join(folder.path, `empty-${index}`);
      execFileSync(one?.python ?? '', ['-m', 'venv', '--without-pip', place]);
      const empty = join(place, 'bin/python');
      execFileSync(python, ['-m', 'pip', '--quiet', '--python', empty, 'install', '--no-index', wheel]);
      expect(await runTests(empty, 'test_cases.py', '')).toMatch(/\nOK\n$/);
      const script =
        'import importlib.metadata as m, integration_sync as i; print(m.requires("integration-sync"), i.__file__)';
      expect((await run(empty, ['-c', script])).stdout).toContain(`None ${place}`);
    }
    await writeFile(join(folder.path, 'use.py'), use);
    const found = await mypy(
      python,
      folder.path,
      '--python-executable',
      join(folder.path, 'empty-0/bin/python'),
      join(folder.path, 'use.py'),
    );
    const lines = [...found.matchAll(/use\.py:(\d+): error/g)].map(([, line]) => Number(line));
    expect(new Set(lines)).toEqual(new Set([4, 5, 8, 9, 14]));
  },
);
