// npm run pack makes the tarballs of client/ and loader/ in .local/packages/: compiled, since Node reads no TypeScript below
// node_modules, and with declarations. `npm install` of both into an empty folder is all that a user needs. Where pip is, the
// command also makes the wheel of python/.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const packages = ['client', 'loader'] as const;
type PackageName = (typeof packages)[number];
const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');

/** Makes the tarballs; resolves with their paths. */
export async function pack(folder: string, names: readonly PackageName[] = packages): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  const made: string[] = [];
  for (const name of names) {
    const staged = join(folder, name);
    await rm(staged, { recursive: true, force: true });
    const source = join(root, name);
    const options = ['--noEmit', 'false', '--declaration', '--rewriteRelativeImportExtensions'];
    const project = ['-p', join(source, 'tsconfig.json'), '--rootDir', join(source, 'src')];
    execFileSync(process.execPath, [compiler, ...project, ...options, '--outDir', join(staged, 'dist')], {
      stdio: 'inherit',
    });
    const manifest = await readFile(join(source, 'package.json'), 'utf8');
    await writeFile(
      join(staged, 'package.json'),
      JSON.stringify(published(JSON.parse(manifest)), undefined, 2),
    );
    await cp(join(source, 'README.md'), join(staged, 'README.md'));
    const [packed]: { filename: string }[] = JSON.parse(
      execFileSync('npm', ['pack', '--json', '--offline', '--pack-destination', folder], {
        cwd: staged,
      }).toString(),
    );
    await rm(staged, { recursive: true });
    if (packed === undefined) throw new Error(`npm pack named no tarball of the package ${name}`);
    made.push(join(folder, packed.filename.replace(/^@/, '').replace('/', '-')));
  }
  return made;
}

interface Manifest {
  version: string;
  private?: boolean;
  bin?: object;
  imports?: object;
  exports: object;
}

const compiled = { types: './dist/index.d.ts', default: './dist/index.js' };

/** The published manifest: in the repository a package exports its source files, as a tarball its compiled files. */
const published = ({ private: _private, ...manifest }: Manifest): object => ({
  ...manifest,
  ...(manifest.bin === undefined ? {} : { bin: { 'integration-sync': './dist/main.js' } }),
  ...(manifest.imports === undefined ? {} : { imports: { '#platform': './dist/platform/node.js' } }),
  exports: '.' in manifest.exports ? { '.': compiled } : {},
  files: ['dist'],
});

/** The packages that the loader depends on; the client depends on none. */
const dependencies = [
  '@modelcontextprotocol/core',
  '@modelcontextprotocol/server',
  'iconv-lite',
  'safer-buffer',
  'zod',
];

/** Installs the tarballs by npm in an empty folder, as users do, but without a registry; resolves with the folder. */
export async function installPackages(
  folder: string,
  names: readonly PackageName[] = packages,
): Promise<string> {
  const packed = join(folder, 'packed');
  const tarballs = await pack(packed, names);
  const npm = (...args: string[]): string => execFileSync('npm', args, { cwd: folder }).toString();
  if (names.includes('loader')) {
    const how = ['--silent', '--offline', '--ignore-scripts', '--pack-destination', packed];
    const made = npm('pack', ...how, ...dependencies.map((name) => join(root, 'node_modules', name)));
    for (const name of made.trim().split('\n')) tarballs.push(join(packed, name));
  }
  const place = join(folder, 'empty');
  await mkdir(place);
  const how = ['--prefix', place, '--offline', '--no-audit', '--no-fund', '--cache', join(folder, 'cache')];
  npm('install', ...how, ...tarballs);
  return place;
}

/** Makes the wheel; returns its path. Where this Python has flit_core, pip downloads nothing. */
export function packWheel(folder: string, python: string): string {
  const isolation =
    spawnSync(python, ['-c', 'import flit_core']).status === 0 ? ['--no-build-isolation', '--no-index'] : [];
  const how = ['--quiet', '--no-deps', '--wheel-dir', folder, ...isolation];
  execFileSync(python, ['-m', 'pip', 'wheel', ...how, join(root, 'python')], { stdio: 'inherit' });
  const { version }: Manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return join(folder, `integration_sync-${version}-py3-none-any.whl`);
}

if (import.meta.main) {
  const folder = join(root, '.local/packages');
  const made = await pack(folder);
  if (spawnSync('python3', ['-m', 'pip', '--version']).status === 0) made.push(packWheel(folder, 'python3'));
  else process.stderr.write('The wheel of python/ is not made: python3 -m pip does not run here.\n');
  process.stdout.write(`${made.join('\n')}\n`);
}
