// The client and the loader as users have them: their tarballs, installed by npm in an empty folder, without a registry.
import { execFileSync } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pack, packages, type PackageName } from '@integration-sync/dev/pack';

const modules = resolve(import.meta.dirname, '../../node_modules');
/** What the loader depends on; the client needs nothing. */
const dependencies = ['iconv-lite', 'safer-buffer'];

/** Where they are installed. */
export async function installPackages(
  folder: string,
  names: readonly PackageName[] = packages,
): Promise<string> {
  const packed = join(folder, 'packed');
  const tarballs = await pack(packed, names);
  const npm = (...args: string[]): string => execFileSync('npm', args, { cwd: folder }).toString();
  for (const name of names.includes('loader') ? dependencies : []) {
    const how = ['--silent', '--offline', '--ignore-scripts', '--pack-destination', packed];
    tarballs.push(join(packed, npm('pack', ...how, join(modules, name)).trim()));
  }
  const place = join(folder, 'empty');
  await mkdir(place);
  const how = ['--prefix', place, '--offline', '--no-audit', '--no-fund', '--cache', join(folder, 'cache')];
  npm('install', ...how, ...tarballs);
  return place;
}
