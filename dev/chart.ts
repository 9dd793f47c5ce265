// npm run chart renders deploy/helm with the values of test/chart, for the tests: they check what stands in
// test/chart/rendered, so that they need no helm. The first line of each file says of which chart and values it is.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { glob, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const root = resolve(import.meta.dirname, '..');

export const renderings = ['defaults', 'production', 'upgraded'] as const;
export type Rendering = (typeof renderings)[number];

/** The files of values that each is rendered with, a later one over an earlier one. */
const valuesOf: Readonly<Record<Rendering, readonly string[]>> = {
  defaults: [],
  production: ['production.yaml'],
  upgraded: ['production.yaml', 'upgrade.yaml'],
};

export const renderedFile = (name: Rendering): string => join(root, 'test/chart/rendered', `${name}.yaml`);

/** What a rendering is made of, as one line. */
export async function firstLineOf(name: Rendering): Promise<string> {
  const files = await Array.fromAsync(glob('deploy/helm/**/*.*', { cwd: root }));
  const hash = createHash('sha256');
  for (const file of [...files.toSorted(), ...valuesOf[name].map(valuesFile)]) {
    hash.update(`${file}\n`).update(await readFile(join(root, file)));
  }
  return `# npm run chart renders this. Chart and values: ${hash.digest('hex').slice(0, 16)}`;
}

/** Undefined where this machine has no helm (`HELM` names one that is not on PATH). */
export async function render(name: Rendering): Promise<string | undefined> {
  const values = valuesOf[name].flatMap((file) => ['--values', valuesFile(file)]);
  // The oldest Kubernetes that the chart takes, so that every helm renders the same.
  const place = ['--namespace', 'sync', '--kube-version', '1.27.0'];
  const args = ['template', 'acme', 'deploy/helm', ...place, ...values];
  try {
    const { stdout } = await promisify(execFile)(process.env['HELM'] || 'helm', args, { cwd: root });
    return `${await firstLineOf(name)}\n${stdout}`;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

const valuesFile = (file: string): string => join('test/chart/values', file);

if (import.meta.main) {
  for (const name of renderings) {
    const text = await render(name);
    if (text === undefined) throw new Error('there is no helm on PATH, and HELM names none');
    await writeFile(renderedFile(name), text);
  }
  process.stdout.write('Written: test/chart/rendered.\n');
}
